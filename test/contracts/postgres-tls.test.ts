import { execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../src/platform/database/database.js'
import { usualAccount } from '../../src/platform/own-postgres/programs.js'

import { makeCertificate } from '../support/certificate.js'
import { testPostgres } from '../support/databases.js'
import { type PostgresServer, startPostgres } from '../support/servers/postgres.js'

const run = promisify(execFile)

// The server must own its key, and runs as another user when the tests run as root.
const giveToServer = async (key: string) => {
  await chmod(key, 0o600)
  // In a user namespace of its own, it has the files of root.
  if (await usualAccount()) return
  const { stdout } = await run('id', ['-u', 'postgres']).catch(() => run('id', ['-u', 'nobody']))
  await chown(key, Number(stdout), 0)
}

describe('an encrypted connection to PostgreSQL', () => {
  let folder: string
  let server: PostgresServer
  let plain: PostgresServer
  let trusted: string
  let stranger: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'latchkey-tls-'))
    await chmod(folder, 0o755)
    const [own, other] = await Promise.all([makeCertificate(folder, 'own'), makeCertificate(folder, 'other')])
    await giveToServer(own.key)
    trusted = own.cert
    stranger = other.cert
    server = await startPostgres({ settings: { ssl: 'on', ssl_cert_file: own.cert, ssl_key_file: own.key } })
    plain = await startPostgres()
  })

  afterAll(async () => {
    await Promise.all([server.stop(), plain.stop()])
    await rm(folder, { recursive: true })
  })

  const isEncrypted = async (port: number, query: string, host = 'localhost') => {
    const database = testPostgres(`postgres://postgres@${host}:${port}/postgres${query}`)
    try {
      const [row] = await database.query<{ ssl: boolean }>('select ssl from pg_stat_ssl where pid = pg_backend_pid()')
      return row?.ssl
    } finally {
      await database.close()
    }
  }

  it('is made when the server offers it, and not when it is switched off', async () => {
    expect(await isEncrypted(server.port, '')).toBe(true)
    expect(await isEncrypted(server.port, '?sslmode=disable')).toBe(false)
    expect(await isEncrypted(plain.port, '')).toBe(false)
  })

  it('is insisted upon when asked for', async () => {
    expect(await isEncrypted(server.port, '?sslmode=require')).toBe(true)
    const refused = isEncrypted(plain.port, '?sslmode=require')
    await expect(refused).rejects.toThrow(StoreUnavailable)
    await expect(refused).rejects.toThrow('does not offer encryption')
  })

  it('is verified when asked for: who signed it, and for which host', async () => {
    expect(await isEncrypted(server.port, `?sslmode=verify-full&sslrootcert=${trusted}`)).toBe(true)
    const [untrusted, elsewhere] = [`?sslmode=verify-full&sslrootcert=${stranger}`, `&sslrootcert=${trusted}`]
    await expect(isEncrypted(server.port, untrusted)).rejects.toThrow(StoreUnavailable)
    await expect(isEncrypted(server.port, '?sslmode=verify-full')).rejects.toThrow(
      'its certificate is not from a known authority; name the file of its authority with sslrootcert',
    )
    await expect(isEncrypted(server.port, `?sslmode=verify-full${elsewhere}`, '127.0.0.1')).rejects.toThrow(
      'its certificate is for another host name; write the name',
    )
    expect(await isEncrypted(server.port, `?sslmode=verify-ca${elsewhere}`, '127.0.0.1')).toBe(true)
  })
})
