// `npm run demo`: the main job from nothing.
import { runBuilt } from './run-built.mjs';

await runBuilt('demo');
