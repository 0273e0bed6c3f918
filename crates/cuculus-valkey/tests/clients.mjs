// The calls for filters of the two usual clients of Node. Takes the directory of their packages and a port;
// test_clients.py runs it.

import assert from 'node:assert';
import { createRequire } from 'node:module';

const [directory, port] = process.argv.slice(2);
const load = createRequire(`${directory}/`);

async function redis(RESP) {
    const { createClient } = load('redis');
    const client = await createClient({ url: `redis://127.0.0.1:${port}`, RESP }).connect();
    const { cf } = client;
    await client.del(['seen', 'copy']);
    assert.equal(await cf.reserve('seen', 1000), 'OK');
    assert.equal(await cf.add('seen', 'page/1'), true);
    assert.equal(await cf.addNX('seen', 'page/1'), false);
    assert.equal(await cf.exists('seen', 'page/1'), true);
    assert.equal(await cf.exists('seen', 'page/2'), false);
    assert.deepEqual(await cf.insert('seen', ['page/2', 'page/3']), [true, true]);
    assert.equal(await cf.count('seen', 'page/2'), 1);
    assert.equal(await cf.del('seen', 'page/1'), true);
    const info = await cf.info('seen');
    assert.equal(info['Number of items inserted'], 2);
    assert.equal(info['Number of items deleted'], 1);
    // A chunk is bytes: so it is asked for as such.
    const { RESP_TYPES } = load('redis');
    const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    for (let iterator = 0; ; ) {
        const part = await bytes.cf.scanDump('seen', iterator);
        if (part.iterator === 0) break;
        assert.equal(await cf.loadChunk('copy', part.iterator, part.chunk), 'OK');
        iterator = part.iterator;
    }
    assert.equal(await cf.exists('copy', 'page/3'), true);
    client.destroy();
}

async function ioredis() {
    const Redis = load('ioredis');
    const client = new (Redis.default ?? Redis)(port, '127.0.0.1');
    await client.del('seen');
    assert.equal(await client.call('CF.ADD', 'seen', 'page/1'), 1);
    assert.deepEqual(await client.call('CF.INSERT', 'seen', 'ITEMS', 'page/2', 'page/3'), [1, 1]);
    assert.deepEqual(await client.call('CF.MEXISTS', 'seen', 'page/1', 'page/4'), [1, 0]);
    assert.equal(await client.call('CF.DEL', 'seen', 'page/1'), 1);
    const [position, chunk] = await client.callBuffer('CF.SCANDUMP', 'seen', 0);
    assert.equal(position, 1);
    assert.equal(await client.call('CF.LOADCHUNK', 'other', position, chunk), 'OK');
    const told = await client.call('CF.INFO', 'seen');
    assert.equal(told[told.indexOf('Number of items inserted') + 1], 2);
    client.disconnect();
}

await redis(2);
await redis(3);
await ioredis();
console.log('all calls work');
