// `npm start`: serves, from a fresh clone too.
import { runBuilt } from './run-built.mjs';

await runBuilt('serve');
