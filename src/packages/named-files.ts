// The files that a descriptor names. Only they and it are packed, so that nothing else that lies in the folder (keys, drafts, a .git)
// leaves the machine. The command line packs by this, and so does the dashboard: nothing here may need Node.
import { InvalidPackageError } from '../errors.ts';
import { JsonTextError, parseJsonBytes } from './json-text.ts';
import { defaultPackageLimits } from './limits.ts';
import { judgePath } from './paths.ts';
import { type Findings, quote, type Report, reportInto } from './problems.ts';
import { isRecord } from './shape.ts';

interface NamedFile {
  /** As the descriptor has it. */
  readonly stated: string;
  /** Its name in the zip: a normal path from the folder of datapackage.json. */
  readonly path: string;
  /** The place that names it. */
  readonly report: Report;
}

/** Data, schemas and dialects. Paths that are not safe go into the findings; InvalidPackageError if it is not JSON at all. */
export function namedFiles(descriptor: Uint8Array, findings: Findings): NamedFile[] {
  return statedPaths(parsed(descriptor), findings).flatMap(({ stated, report }) => {
    const judged = judgePath(stated);
    if (judged.kind === 'unsafe') report.problem('UNSAFE_PATH', `The path ${quote(stated)} is not safe: ${judged.why}.`);
    return judged.kind === 'local' ? [{ stated, path: judged.path, report }] : [];
  });
}

function parsed(descriptor: Uint8Array): unknown {
  try {
    return parseJsonBytes(descriptor, defaultPackageLimits.descriptorDepth).value;
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    const message = `datapackage.json is not valid JSON: ${error.message}.`;
    throw new InvalidPackageError([{ code: 'DESCRIPTOR_NOT_JSON', pointer: '', resource: null, message }]);
  }
}

/** Whatever else is wrong is for the server to say, in full. */
function statedPaths(descriptor: unknown, findings: Findings): { stated: string; report: Report }[] {
  const resources: readonly unknown[] = isRecord(descriptor) && Array.isArray(descriptor.resources) ? descriptor.resources : [];
  return resources.flatMap((resource, index) => {
    if (!isRecord(resource)) return [];
    const name = typeof resource.name === 'string' ? resource.name : null;
    return (['path', 'schema', 'dialect'] as const).flatMap((property) => {
      const report = reportInto(findings, name, ['resources', index, property]);
      const value: unknown = resource[property];
      const parts: readonly unknown[] = property === 'path' && Array.isArray(value) ? value : [value];
      // A remote schema travels as the address it is.
      return parts.filter((path) => typeof path === 'string' && !/^https?:/i.test(path)).map((path) => ({ stated: String(path), report }));
    });
  });
}
