// Values of options, parsed.
import { InvalidArgumentError } from '@commander-js/extra-typings';

export function atLeastOne(value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new InvalidArgumentError('It is a whole number from 1.');
  return Number(value);
}
