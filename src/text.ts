// Text from outside: what Postgres cannot store is refused at the edge, in words.
import { InvalidInputError } from './errors.ts';

/** The text as given. Throws InvalidInputError for NUL, lone surrogates or more than `max` characters. */
export function checkText(field: string, text: string, { max }: { max: number }): string {
  if (text.length > max) throw new InvalidInputError(field, `This has more than ${max} characters.`);
  if (text.includes('\0')) throw new InvalidInputError(field, 'This has a NUL character in it.');
  if (!text.isWellFormed()) throw new InvalidInputError(field, 'This is not well-formed Unicode: it has half of a surrogate pair in it.');
  return text;
}
