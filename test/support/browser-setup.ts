// What is served to browsers is what was built: here, if it is older than its sources.
import { execFileSync } from 'node:child_process';
import path from 'node:path';

export default function setup(): void {
  const root = path.resolve(import.meta.dirname, '../..');
  execFileSync('npm', ['run', '--silent', 'prepack'], { cwd: root, stdio: ['ignore', 2, 2] });
}
