import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { postgresAddress, readPostgresAddress } from './postgres-address.js'

describe('the address of a PostgreSQL server', () => {
  it('is read with everything in it', () => {
    expect(postgresAddress('postgres://ada:p%40ss%2Fword@db.example:6432/latchkey?sslmode=disable')).toEqual({
      hosts: [{ host: 'db.example', port: 6432 }],
      user: 'ada',
      password: 'p@ss/word',
      database: 'latchkey',
      tls: { mode: 'disable' },
      requiresScram: false,
      parameters: {},
    })
  })

  it('may name several hosts, each with a port or without', () => {
    const { hosts } = postgresAddress('postgresql://u@a:5433,b,[::1]:5434/x?target_session_attrs=read-write')
    expect(hosts).toEqual([
      { host: 'a', port: 5433 },
      { host: 'b', port: 5432 },
      { host: '::1', port: 5434 },
    ])
  })

  it('may name a folder with a socket, in either spelling', () => {
    const expected = [{ host: '/var/run/postgresql', port: 5432 }]
    expect(postgresAddress('postgres://u@/x?host=/var/run/postgresql').hosts).toEqual(expected)
    expect(postgresAddress('postgres://u@%2Fvar%2Frun%2Fpostgresql/x').hosts).toEqual(expected)
  })

  it('has the usual defaults: encryption when offered, the database named like the role', () => {
    const { database, tls, hosts } = postgresAddress('postgres://ada@/')
    expect({ database, tls, hosts }).toEqual({
      database: 'ada',
      tls: { mode: 'prefer' },
      hosts: [{ host: 'localhost', port: 5432 }],
    })
  })

  it('checks the server if an authority is named', () => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-authority-'))
    const [authority, empty] = [join(folder, 'authority.crt'), join(folder, 'empty.crt')]
    writeFileSync(authority, '-----BEGIN CERTIFICATE-----\n')
    writeFileSync(empty, '\n')
    expect(postgresAddress(`postgres://u@h/x?sslmode=require&sslrootcert=${authority}`).tls.mode).toBe('verify-ca')
    expect(postgresAddress('postgres://u@h/x?sslmode=require').tls.mode).toBe('require')
    expect(postgresAddress('postgres://u@h/x?sslmode=no-verify').tls).toMatchObject({
      mode: 'require',
      saysUnverified: true,
    })
    expect(() => postgresAddress(`postgres://u@h/x?sslrootcert=${empty}`)).toThrow('a file without a certificate')
    rmSync(folder, { recursive: true })
  })

  it('is not contradicted by its query, and sends no second name, password or host to the server', () => {
    const address = postgresAddress('postgres://ada:one@db.example/x?user=eve&password=two&host=other&port=1')
    expect(address).toMatchObject({ hosts: [{ host: 'db.example' }], user: 'ada', password: 'one', parameters: {} })
  })

  it('passes other settings on to the server', () => {
    expect(postgresAddress('postgres://u@h/x?search_path=auth&target_session_attrs=any').parameters).toEqual({
      search_path: 'auth',
    })
  })

  it.each([
    'mysql://u:s3cret@h/x',
    'postgres//u:s3cret@h/x',
    'postgres://u:s3cret%zz@h/x',
    'postgres://u:s3cret@h:port/x',
    'postgres://u:s3cret@h:70000/x',
    'postgres://u:s3cret@h/x?sslmode=perhaps',
  ])('is refused without being quoted: %s', (url) => {
    expect(readPostgresAddress(url)).toMatchObject({
      refused: 'invalid_address',
      reason: expect.not.stringMatching(/s3cret/),
    })
    expect(() => postgresAddress(url)).toThrow(/^The database address/)
    expect(() => postgresAddress(url)).not.toThrow(/s3cret/)
  })
})
