// A profile says which schema a descriptor follows. It is never fetched: what the standard asks for is in code here.
import { quote, type Report } from './problems.ts';

const names = ['data-package', 'tabular-data-package', 'fiscal-data-package', 'data-resource', 'tabular-data-resource'];
const addresses = /^https?:\/\/(datapackage\.org\/profiles\/|specs\.frictionlessdata\.io\/schemas\/)/;

export function noteUnknownProfiles(stated: Readonly<Record<string, unknown>>, report: Report): void {
  for (const property of ['profile', '$schema']) {
    const profile = stated[property];
    if (typeof profile !== 'string' || names.includes(profile) || addresses.test(profile)) continue;
    report.note(`The profile ${quote(profile)} is not known here; it was neither fetched nor checked.`);
  }
}
