import { Anchor, Button, Popover, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

/** What belongs to no workspace. Loaded after the page is there: nothing waits for it. */
export default function HeaderMenu() {
  const [opened, setOpened] = useState(false);
  return (
    // Mantine’s own menu has children that a menu must not have (axe: aria-required-children).
    <Popover opened={opened} onChange={setOpened} position="bottom-end" trapFocus returnFocus>
      <Popover.Target>
        <Button size="compact-sm" variant="default" miw="max-content" onClick={() => setOpened(!opened)}>
          Menu
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack component="nav" aria-label="Beside the workspaces" gap="xs">
          <Anchor renderRoot={(props) => <Link {...props} to="/lifecycles" />} onClick={() => setOpened(false)}>
            Lifecycles
          </Anchor>
          {/* In this tab, whose token it takes: another one has none. */}
          <Anchor href="/graphiql">GraphiQL</Anchor>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
