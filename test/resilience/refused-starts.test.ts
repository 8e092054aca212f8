import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { OperatorError } from '../../src/lib/operator-error.js'
import { createLog } from '../../src/platform/log.js'
import { DataDirectoryInUse, lockDirectory } from '../../src/platform/own-postgres/folder-lock.js'

import { startApp } from '../../src/service/open-service.js'
import { loadConfig } from '../../src/settings/config.js'
import { freshPostgres, testPostgres } from '../support/databases.js'
import { startLatchkey } from '../support/latchkey.js'
import { runLatchkey } from '../support/program.js'
import { freePort } from '../support/servers/server.js'
import { noStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

// Each of these starts whole processes, one after another.
vi.setConfig({ testTimeout: 120_000 })

let folder: string
const running: { stop(): Promise<void> }[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-refused-'))
})
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop()
  await rm(folder, { recursive: true, force: true })
})

const run = (settings: Record<string, string> = {}, args?: string[]) => {
  const program = runLatchkey(folder, settings, args)
  running.push(program)
  return program
}

/** Loaded before the program: reading package.json fails, which the program does not expect. */
const fault = `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const { readFileSync } = fs
  fs.readFileSync = (file, ...rest) => {
    if (String(file).endsWith('/package.json')) throw new Error('broken on purpose')
    return readFileSync(file, ...rest)
  }
  syncBuiltinESMExports()`

it('names the lines of the sources when something fails that it does not expect', async () => {
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(fault)}`
  const program = run({ NODE_OPTIONS }, ['--version'])
  expect(await program.exited).toBe(1)
  expect(program.output.stderr).toMatch(
    /^Error: broken on purpose\n.* at programVersion \(\S+\/src\/platform\/version\.ts:\d+:\d+\)/s,
  )
})

it('ends with 1 when it waits for something that never comes', async () => {
  const silence = 'process.stdout.write = () => true'
  const program = run({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(silence)}` }, ['--version'])
  expect(await program.exited).toBe(1)
  expect(program.output.stderr).toContain('ended before it was finished')
})

describe('a start that cannot succeed says why in one sentence and changes nothing', () => {
  /** What the program prints before it ends. */
  const refusalOfProgram = async (settings: Record<string, string>) => {
    const program = run(settings)
    expect(await program.exited).not.toBe(0)
    return program.output.stderr.trim()
  }

  /** The same without a process: the program prints the message of this kind of error and nothing else. */
  const refusal = async (settings: Record<string, string>) => {
    const start = async () => {
      const config = loadConfig({ HOST: '127.0.0.1', PORT: '0', DATA_DIR: folder, ...settings })
      const app = await startApp(config, { log: createLog({ level: 'silent' }), onFatal: () => {} })
      // Where the port opens before the database is ready.
      await app.prepared.finally(() => app.close())
    }
    const error = await start().catch((reason: unknown) => reason)
    if (!(error instanceof OperatorError)) throw new Error('The start was not refused', { cause: error })
    return error.message
  }

  it('for a file of profile fields that is not there, and a command ends with the same one', async () => {
    const settings = { PROFILE_FIELDS_FILE: join(folder, 'none.json') }
    const said = await refusal(settings)
    expect(said).toContain('none.json')
    const command = openRoomsForCommand(loadConfig({ DATA_DIR: folder, ...settings }), 'service role')
    await expect(command).rejects.toThrow(new OperatorError(said))
    expect(await readdir(folder)).not.toContain('postgres')
  })

  it('for each wrong setting a line, without its value', async () => {
    const said = await refusalOfProgram({ PORT: 'seventy', JWT_SECRET: 'hunter2', LOGIN_LIMIT: 'lots' })
    expect(said.split('\n').map((line) => line.split(':')[0])).toEqual(['PORT', 'JWT_SECRET', 'LOGIN_LIMIT'])
    expect(said).not.toMatch(/seventy|hunter2|lots/)
    expect(await readdir(folder)).toEqual([])
  })

  it('for production with a name of its database that nobody reads, or with the name of its owner alone', async () => {
    const url = 'postgres://latchkey:hunter2@database/latchkey'
    for (const name of ['DATABASE_UR', 'LATCHKEY_DATABASE_URL', 'DATBASE_URL_FILE']) {
      const said = await refusal({ NODE_ENV: 'production', [name]: url })
      expect(said).toContain(`DATABASE_URL: is not set, and ${name} is not a setting; did you mean DATABASE_URL?`)
      expect(said).not.toContain('hunter2')
    }
    expect(await refusal({ NODE_ENV: 'production', DATABASE_OWNER_URL: url })).toContain(
      'DATABASE_OWNER_URL: needs DATABASE_URL, or the service would use a new database of its own',
    )
    expect(await refusal({ NODE_ENV: 'production', DATABASE_URL: url })).toContain(
      'JWT_SECRET: must be set in production with DATABASE_URL',
    )
    expect(await readdir(folder)).toEqual([])
  })

  it('for a port in use', async () => {
    const { url, drop } = await freshPostgres()
    const port = await freePort()
    const other = createServer().listen(port, '127.0.0.1')
    expect(await refusal({ PORT: String(port), DATABASE_URL: url })).toBe(
      `127.0.0.1:${port} is in use: set PORT to another port, or stop the program that has it.`,
    )
    other.close()
    await drop()
  })

  it('for a HOST that is no address of this machine', async () => {
    const { url, drop } = await freshPostgres()
    for (const host of ['nohost.invalid', '192.0.2.1'])
      expect(await refusal({ HOST: host, DEVELOPMENT_ON_NETWORK: 'true', DATABASE_URL: url })).toBe(
        'HOST cannot be listened on: it must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them.',
      )
    await drop()
  })

  it('for a data directory that another one uses, and leaves that one alone', async () => {
    const lock = await lockDirectory(join(folder, 'postgres'), 'service')
    const said = await refusal({})
    expect(said.split('\n')).toEqual([
      expect.stringMatching(
        /^The data directory .* is in use by another running Latchkey, process \d+: stop that one first/,
      ),
    ])
    await expect(lockDirectory(join(folder, 'postgres'), 'command')).rejects.toThrow(DataDirectoryInUse)
    await lock.release()
    expect(await readdir(folder)).not.toContain('postgres')
  })

  it('for a data directory that is a file', async () => {
    const file = join(folder, 'file')
    await writeFile(file, 'precious')
    expect((await refusal({ DATA_DIR: file })).split('\n')).toHaveLength(1)
    expect(await readFile(file, 'utf8')).toBe('precious')
  })

  it('for a database at a newer schema, also with several processes', async () => {
    const { url, drop } = await freshPostgres()
    const database = testPostgres(url)
    await database.query(
      "insert into schema_migrations (name, checksum, applied_at) values ('9999-future.sql', 'x', now())",
    )
    await database.close()
    const said = await refusal({ DATABASE_URL: url })
    expect(said.split('\n')).toHaveLength(1)
    expect(said).toMatch(/newer/)
    const several = { NODE_ENV: 'test', WORKERS: '2', PORT: String(await freePort()) }
    const redis = process.env.TEST_REDIS_URL ?? ''
    expect(await refusalOfProgram({ ...several, DATABASE_URL: url, REDIS_URL: redis })).toBe(said)
    await drop()
  })

  it('for an unknown command', async () => {
    const { code, err } = await latchkey(noStore, ['frobnicate'])
    expect(code).not.toBe(0)
    expect(err).toMatch(/There is no command "frobnicate"/)
  })
})

describe('a database at a newer schema that lets this program run', () => {
  it('is served, with a warning', async () => {
    const { url, drop } = await freshPostgres()
    const database = testPostgres(url)
    await database.query(
      `insert into schema_migrations (name, checksum, applied_at, oldest_program)
       values ('9999-future.sql', 'x', now(), (select count(*) from schema_migrations))`,
    )
    await database.close()
    const served = await startLatchkey({ settings: { DATABASE_URL: url } })
    await served.app.prepared
    expect(served.logLines.join('')).toContain('the database schema is newer than this program, and compatible with it')
    expect((await fetch(`${served.url}/health`)).status).toBe(200)
    await served.stop()
    await drop()
  })
})
