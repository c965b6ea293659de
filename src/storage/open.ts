// Which storage the settings name.
import type { Config } from '../config.ts';
import { folderStorage } from './folder.ts';
import { s3Storage } from './s3.ts';
import type { Storage } from './storage.ts';

export function storageOf(place: Config['storage']): Storage {
  return place.kind === 'folder' ? folderStorage(place.root) : s3Storage(place);
}
