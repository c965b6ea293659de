import { memoryStorage } from '../support/memory-storage.ts';
import { storageContract } from './contract.ts';

storageContract('memory', async () => memoryStorage(), { streams: false });
