// The conformance kit: what a service must do to be driven, tried out one by one.
import { Broken, type World } from './check.ts';
import { checks } from './checks.ts';

export interface Finding {
  readonly name: string;
  readonly says: string;
  readonly outcome: 'passed' | 'skipped' | 'failed';
  /** Why it was skipped or failed. */
  readonly message: string | null;
}

/** One after the other, in order; a failed one keeps none of the others. */
export async function checkService(world: World, onFinding: (finding: Finding) => void = () => {}): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, says, run } of checks) {
    const finding = await run(world).then(
      (why): Finding => ({ name, says, outcome: why === undefined ? 'passed' : 'skipped', message: why ?? null }),
      (error: unknown): Finding => {
        if (!(error instanceof Broken)) throw error;
        return { name, says, outcome: 'failed', message: error.message };
      },
    );
    findings.push(finding);
    onFinding(finding);
  }
  return findings;
}
