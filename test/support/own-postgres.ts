import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { createPostgres } from '../../src/platform/database/open.js'
import { type OwnConfig, type OwnPostgres, openForService } from '../../src/platform/own-postgres/own-postgres.js'

type Line = { level: string; message: string; details: object }
export const createTestLog = () => {
  const lines: Line[] = []
  const at = (level: string) => (details: object, message: string) => void lines.push({ level, message, details })
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** A folder for each test of a file, in which it opens databases that are brought along. What was opened is closed after the test. */
export const useOwnPostgres = () => {
  const at = { folder: '', dataDir: '' }
  const opened: { close(): Promise<void> }[] = []

  const closeAll = async () => {
    for (const each of opened.splice(0).reverse()) await each.close()
  }
  beforeEach(async () => {
    at.folder = await mkdtemp(join(tmpdir(), 'latchkey-own-'))
    at.dataDir = join(at.folder, 'data')
  })
  afterEach(async () => {
    await closeAll()
    await rm(at.folder, { recursive: true, force: true })
  })

  const configFor = (more: Partial<OwnConfig> = {}): OwnConfig => ({
    dataDir: at.dataDir,
    production: false,
    postgresBin: undefined,
    jwtSecret: undefined,
    sealingKey: undefined,
    maxConnections: 20,
    ...more,
  })
  const keep = <Part extends { close(): Promise<void> }>(part: Part) => {
    opened.push(part)
    return part
  }
  const databaseAt = (url: string) =>
    keep(createPostgres({ url, poolSize: 2, connectTimeoutMs: 10_000, statementTimeoutMs: 10_000 }))

  return {
    at,
    configFor,
    keep,
    closeAll,
    databaseAt,
    serve: async (more: Partial<OwnConfig> = {}, log = createTestLog(), settingsForCommands = {}) =>
      keep(await openForService({ config: configFor(more), log, settingsForCommands })),
    asOwner: ({ settings }: OwnPostgres) => databaseAt(settings.databaseOwnerUrl),
    /** Closes what was opened last, in the reverse order, down to and with this one. */
    close: async (part: { close(): Promise<void> }) => {
      for (;;) {
        const last = opened.pop()
        await last?.close()
        if (last === part || last === undefined) return
      }
    },
  }
}
