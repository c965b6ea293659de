import { Anchor, Button, Group } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useMutation } from 'urql';
import { requestWorkspaceExportDocument } from '../../client/export-documents.ts';
import { typed } from '../api.ts';
import { refusalOf } from '../confirm.tsx';
import { Wrong } from '../said.tsx';
import { useWorkspace } from '../workspaces/workspace-frame.tsx';

export function RequestExport() {
  const { id, slug } = useWorkspace();
  const navigate = useNavigate();
  const [{ fetching }, request] = useMutation(typed(requestWorkspaceExportDocument));
  const [refusal, setRefusal] = useState<string | null>(null);
  const ask = async () => {
    const { data, error } = await request({ input: { workspaceId: id } });
    setRefusal(refusalOf('ExportExecution', Object.values(data ?? {}), error));
    const answer = data?.requestWorkspaceExport;
    if (answer?.__typename === 'ExportExecution')
      await navigate({ to: '/workspaces/$slug/exports/$exportId', params: { slug, exportId: answer.id } });
  };
  return (
    <Group mb="sm">
      <Button variant="default" loading={fetching} onClick={ask}>
        Export the workspace as it is now
      </Button>
      <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/workspaces/$slug/export-settings" params={{ slug }} />}>
        Export settings
      </Anchor>
      {refusal !== null && <Wrong>{refusal}</Wrong>}
    </Group>
  );
}
