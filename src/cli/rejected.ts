// `packhorse rejected ID --out FILE`: the rows that a run left out, as a package on this machine.
import type { Command } from '@commander-js/extra-typings';
import { issueRejectedRowsLinkDocument } from '../client/rejected-documents.ts';
import { ClientError, type Connection, causeOf, execute, reach } from '../client/request.ts';
import { clientCommand, connect } from './connection.ts';
import { exitCode, granted } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';
import { refusalOf, refuseUnlessWritable, writeTo } from './to-file.ts';

export function addRejected(program: Command, surroundings: Surroundings): void {
  clientCommand(program, 'rejected', 'the rows that a run left out, each with what is wrong with it, as a data package')
    .argument('<id>', 'the run’s id')
    .option('--out <file>', 'download it to here; without it, a link is printed')
    .action(async (dataRunId, { out: file, json, ...given }) => {
      if (file !== undefined) await refuseUnlessWritable(file);
      const connection = connect(given, surroundings);
      const { issueRejectedRowsLink } = await execute(connection, issueRejectedRowsLinkDocument, { input: { dataRunId } });
      const link = granted(issueRejectedRowsLink, 'DownloadLink');
      if (file !== undefined) await writeTo(file, piecesOf(connection, link.url), () => {});
      if (json) surroundings.out(JSON.stringify({ type: 'rejected', file: file ?? null, link: file === undefined ? link : null }));
      else surroundings.out(file === undefined ? `${link.url} until ${link.expiresAt}` : file);
      surroundings.finish(exitCode.succeeded);
    });
}

/** It has no length beforehand, and breaks off where the server does: fetch tells. */
async function* piecesOf(connection: Connection, url: string): AsyncGenerator<Uint8Array> {
  const response = await reach(connection, url, {});
  if (!response.ok || response.body === null) throw await refusalOf(response);
  try {
    yield* response.body;
  } catch (error) {
    throw new ClientError('UNREACHABLE', `The download broke off: ${causeOf(error)}. Nothing was kept.`);
  }
}
