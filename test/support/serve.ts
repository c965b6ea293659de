// The command line in a process of its own, which ends with the test that started it, however that one ends.
process.stdin.on('end', () => process.exit(1)).resume();
(process.stdin as { unref?: () => void }).unref?.(); // a pipe: it must not keep the process

await import('../../src/cli/main.ts');

export {};
