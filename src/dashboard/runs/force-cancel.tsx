import { Checkbox } from '@mantine/core';
import { useMay } from '../viewer.ts';

interface ForceCancelProps {
  readonly isForced: boolean;
  readonly force: (isForced: boolean) => void;
}

/** A child that refuses to be stopped refuses the whole cancel, but for who may force it. */
export function ForceCancel({ isForced, force }: ForceCancelProps) {
  if (useMay('data-run:force') !== true) return null;
  return (
    <Checkbox
      label="Although a child refuses"
      description="Without it, a child that refuses to be stopped keeps the run as it is. With it, the run is cancelled all the same: that child may go on writing, is asked again until it has stopped, and is shown until then."
      checked={isForced}
      onChange={(event) => force(event.currentTarget.checked)}
    />
  );
}
