import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectToHolder, DataDirectoryInUse, lockDirectory } from './folder-lock.js'

let folder: string
let directory: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-lock-'))
  directory = join(folder, 'database')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('the lock on the data directory', () => {
  it('goes to exactly one of ten that start together', async () => {
    const attempts = await Promise.allSettled(Array.from({ length: 10 }, () => lockDirectory(directory, 'service')))
    const held = attempts.filter((attempt) => attempt.status === 'fulfilled')
    const refused = attempts.filter((attempt) => attempt.status === 'rejected')
    expect(held).toHaveLength(1)
    const { pid } = process
    await expect(lockDirectory(directory, 'command')).rejects.toThrow(
      `in use by another running Latchkey, process ${pid}: stop that one first (kill ${pid})`,
    )
    expect(refused.every(({ reason }) => reason instanceof DataDirectoryInUse)).toBe(true)
    await Promise.all(held.map(({ value }) => value.release()))
    expect(await readdir(folder)).toEqual([])
  })

  // Without it, a start that failed while a command was connected ended before it could say why, with exit code 0.
  it('is released although a process is connected to it whose bytes no one reads', async () => {
    const lock = await lockDirectory(directory, 'service')
    lock.admit((socket) => socket.end())
    const connected = await connectToHolder(directory)
    connected?.write('unread')
    await wait(20)
    await lock.release()
    connected?.destroy()
    expect(await readdir(folder)).toEqual([])
  })

  it('works in a folder whose path is longer than a socket’s may be', async () => {
    const deep = join(folder, ...Array.from({ length: 6 }, () => 'a-rather-long-folder-name'), 'database')
    await mkdir(dirname(deep), { recursive: true })
    const lock = await lockDirectory(deep, 'service')
    lock.admit((socket) => socket.end())
    const connected = await connectToHolder(deep)
    expect(connected).toBeDefined()
    connected?.destroy()
    await expect(lockDirectory(deep, 'service')).rejects.toThrow(DataDirectoryInUse)
    await lock.release()
    const again = await lockDirectory(deep, 'service')
    await again.release()
    expect(await readdir(dirname(deep))).toEqual([])
  })

  it('names a service that does not answer, because it is paused', async () => {
    const paused = createServer().listen(join(folder, 'database.lock-service-4711-0123456789ab'))
    await once(paused, 'listening')
    await expect(connectToHolder(directory, 50)).rejects.toThrow(
      'in use by a service that does not answer, process 4711',
    )
    paused.close()
  })
})
