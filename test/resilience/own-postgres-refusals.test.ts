import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { isThrownAway, requireSafeFolder } from '../../src/platform/own-postgres/folder-lock.js'
import { clusterFolder, type OwnConfig, openForService } from '../../src/platform/own-postgres/own-postgres.js'
import { createTestLog, useOwnPostgres } from '../support/own-postgres.js'
import { findTestProgram } from '../support/servers/programs.js'

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0

const { at, configFor, keep, closeAll, serve, asOwner, close } = useOwnPostgres()

describe('a start that would lose or mix up something is refused with one sentence', () => {
  const refusal = async (more: Partial<OwnConfig> = {}) => {
    const error = await openForService({ config: configFor(more), log: createTestLog() }).then(
      (own) => {
        keep(own)
        throw new Error('It was not refused')
      },
      (reason: Error) => reason,
    )
    expect(error.message).toMatch(/^[^\n]+$/)
    return error.message
  }

  it('with other files where the cluster would be', async () => {
    await mkdir(clusterFolder(at.dataDir), { recursive: true })
    await writeFile(join(clusterFolder(at.dataDir), 'cat.jpg'), 'meow')
    expect(await refusal()).toContain('holds files, but no database')
    expect(await readdir(clusterFolder(at.dataDir))).toEqual(['cat.jpg'])
  })

  it('with a folder that cannot be written', async () => {
    await writeFile(join(at.folder, 'file'), '')
    at.dataDir = join(at.folder, 'file', 'data')
    expect(await refusal()).toContain('cannot be written to')
  })

  it('with secrets that were lost beside the cluster, and never makes new ones', async () => {
    await close(await serve())
    for (const name of ['jwt_secret', 'sealing_key', 'postgres_owner', 'postgres_service']) {
      const file = join(at.dataDir, 'secrets', name)
      await rename(file, join(at.folder, 'kept'))
      expect(await refusal()).toMatch(
        new RegExp(`^The file ${name} is missing in .*secrets, and the database beside it needs it`),
      )
      expect(existsSync(file)).toBe(false)
      await rename(join(at.folder, 'kept'), file)
    }
    await rm(join(at.dataDir, 'secrets', 'jwt_secret'))
    const given = 'a'.repeat(64)
    const own = await serve({ jwtSecret: [given] })
    expect(own.settings.jwtSecret).toEqual([given])
  })

  it('with a folder that others may write to, and with secrets that another user has made', async () => {
    await mkdir(at.dataDir)
    await chmod(at.dataDir, 0o777)
    expect(await refusal()).toMatch(/^Every user of this machine may write to .*: close it/)
    expect(await readdir(at.dataDir)).toEqual([])
    await chmod(at.dataDir, 0o700)
    const own = await serve()
    await close(own)
    const secret = join(at.dataDir, 'secrets', 'jwt_secret')
    await chmod(secret, 0o644)
    await close(await serve())
    expect((await stat(secret)).mode & 0o777).toBe(0o600)
    if (!isRoot) return
    await chown(secret, 12_345, 0)
    expect(await refusal()).toMatch(/jwt_secret belongs to another user/)
  })

  it('with a cluster of another major version, or of none', async () => {
    await close(await serve())
    const file = join(clusterFolder(at.dataDir), 'PG_VERSION')
    const version = await readFile(file, 'utf8')
    await writeFile(file, '14\n')
    expect(await refusal()).toMatch(/was made by PostgreSQL 14, and here is PostgreSQL 1\d.*: set POSTGRES_BIN/)
    await writeFile(file, 'nonsense')
    expect(await refusal()).toContain('is damaged')
    await writeFile(file, version)
    await rm(join(clusterFolder(at.dataDir), 'global/pg_control'))
    expect(await refusal()).toMatch(/^PostgreSQL does not start in .*pg_control/)
  })

  it('with programs that do not run here', async () => {
    const programs = join(at.folder, 'bin')
    await mkdir(programs)
    expect(await refusal({ postgresBin: programs })).toContain('where no PostgreSQL 15 or newer runs')
    for (const name of ['postgres', 'initdb'])
      await writeFile(join(programs, name), '\u007fELF of another machine', { mode: 0o755 })
    expect(await refusal({ postgresBin: programs })).toContain('where no PostgreSQL 15 or newer runs')
    for (const name of ['postgres', 'initdb'])
      await writeFile(join(programs, name), '#!/bin/sh\necho "postgres (PostgreSQL) 14.9"\n', { mode: 0o755 })
    expect(await refusal({ postgresBin: programs })).toContain('where no PostgreSQL 15 or newer runs')
  })

  it('takes the programs that POSTGRES_BIN names, of another major version too', async () => {
    const initdb = findTestProgram('initdb')
    if (!initdb) throw new Error('The tests need the PostgreSQL of the machine')
    const { stdout } = await run('readlink', ['-f', initdb])
    const own = await serve({ postgresBin: dirname(stdout.trim()) })
    const [row] = await asOwner(own).query<{ text: string }>("select lower('ÄÉ') as text")
    expect(row?.text).toBe('äé')
  })

  it('with a folder that is open to others, as some platforms leave it, is closed and used', async () => {
    await close(await serve())
    await chmod(clusterFolder(at.dataDir), 0o770)
    await serve()
    expect((await stat(clusterFolder(at.dataDir))).mode & 0o777).toBe(0o700)
  })

  it('in a container whose file system is thrown away, and on a network file system', () => {
    const root = '20 1 0:30 / / rw,relatime - overlay overlay rw\n21 20 0:31 / /proc rw - proc proc rw\n'
    expect(isThrownAway('/data', root, false)).toBe(true)
    expect(isThrownAway('/data/deep', `${root}22 20 8:1 /v /data rw - ext4 /dev/sda rw\n`, false)).toBe(false)
    expect(isThrownAway('/database', `${root}22 20 8:1 /v /data rw - ext4 /dev/sda rw\n`, false)).toBe(true)
    const machine = '20 1 8:1 / / rw,relatime - ext4 /dev/sda rw\n'
    expect(isThrownAway('/data', machine, false)).toBe(false)
    expect(isThrownAway('/data', machine, true)).toBe(true)
  })

  if (isRoot)
    it('as root in production', async () => {
      await expect(requireSafeFolder(at.dataDir)).rejects.toThrow(
        /^Latchkey does not run as root in production, .*: start it as a user/,
      )
    })

  // A disk in memory needs root.
  if (isRoot)
    it('with a full disk, and comes back by itself when there is room', async () => {
      await mkdir(at.dataDir)
      await run('mount', ['-t', 'tmpfs', '-o', 'size=120m,mode=700', 'latchkey-test', at.dataDir])
      try {
        const log = createTestLog()
        const own = await serve({}, log)
        const database = asOwner(own)
        await database.query('create table kept as select 1 as one')
        const filling = join(at.dataDir, 'filling')
        await run('dd', ['if=/dev/zero', `of=${filling}`, 'bs=64k']).catch(() => undefined)
        const fill = () => database.query('insert into kept select n from generate_series(1, 2000000) as n')
        await expect(fill()).rejects.toThrow()
        await rm(filling)
        await expect
          .poll(async () => database.query('select count(*)::int as kept from kept').catch(() => undefined), {
            timeout: 60_000,
          })
          .toEqual([{ kept: 1 }])
        await close(own)
        await run('dd', ['if=/dev/zero', `of=${filling}`, 'bs=64k']).catch(() => undefined)
        await rm(clusterFolder(at.dataDir), { recursive: true })
        await run('dd', ['if=/dev/zero', `of=${join(at.dataDir, 'more')}`, 'bs=64k']).catch(() => undefined)
        expect(await refusal()).toContain('its disk is full')
        expect((await readdir(at.dataDir)).filter((name) => name.includes('.new-'))).toEqual([])
      } finally {
        await closeAll()
        await run('umount', ['--lazy', at.dataDir])
      }
    })
})
