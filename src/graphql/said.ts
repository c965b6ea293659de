// The reason and the idempotency key that mutations take.
import { checkText } from '../text.ts';

export const reasonDescription = 'Why: kept with the event. At most 1,000 characters.';
export const keyDescription = 'The same key gives the first result again, for 24 hours.';

export const reasonOf = (reason: string | null | undefined) =>
  reason === null || reason === undefined ? null : checkText('reason', reason, { max: 1_000 });
export const keyOf = (key: string | null | undefined) =>
  key === null || key === undefined ? null : checkText('idempotencyKey', key, { max: 200 });

/** Checked when the operation reads it, which is after it looked whether the viewer may know of the subject and act on it: the order of answers. */
export const said = (input: { reason?: string | null | undefined; idempotencyKey?: string | null | undefined }) => ({
  get reason() {
    return reasonOf(input.reason);
  },
  get idempotencyKey() {
    return keyOf(input.idempotencyKey);
  },
});
