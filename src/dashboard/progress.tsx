import { Group, Text } from '@mantine/core';
import { count, toneOf } from './said.tsx';

export interface Progress {
  readonly done: string;
  /** Null: nobody knows yet. */
  readonly total: string | null;
  readonly totalIsExact: boolean;
  readonly unit: string;
}

interface BarProps {
  readonly progress: Progress;
  readonly state: string;
  readonly label: string;
}

/** As long as is known, and said in numbers beside it. */
export function Bar({ progress: { done, total, totalIsExact, unit }, state, label }: BarProps) {
  const part = shareOf(done, total);
  const said = total === null ? `${count(done)} ${unit}` : `${count(done)} of ${totalIsExact ? '' : 'about '}${count(total)} ${unit}`;
  return (
    <Group gap="xs" wrap="nowrap">
      <div
        className="track"
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={part ?? undefined}
        aria-valuetext={said}
      >
        <div className="bar" data-tone={toneOf(state)} style={{ width: `${part ?? 0}%` }} />
      </div>
      <Text size="xs" className="num" style={{ whiteSpace: 'nowrap' }}>
        {said}
      </Text>
    </Group>
  );
}

/** In hundredths, never a full bar before all is done; null where the total is unknown. */
function shareOf(done: string, total: string | null): number | null {
  if (total === null) return null;
  if (BigInt(total) === 0n) return 100;
  return Math.min(100, Number((BigInt(done) * 100n) / BigInt(total)));
}
