import { expect, it } from 'vitest'
import { validAddress } from '../platform/invalid-address.js'
import { readSmtpAddress } from '../platform/mail/smtp-address.js'
import { protections } from './connections.js'

const mail = (url: string) => validAddress('SMTP_URL', readSmtpAddress(url))

it.each([
  [
    { databaseUrl: 'postgres://127.0.0.1/x', redisUrl: 'redis://[::1]', smtpUrl: mail('smtp://localhost:2525') },
    { database: 'on this machine', redis: 'on this machine', mail: 'on this machine' },
  ],
  [
    {
      databaseUrl: 'postgres://db/x?sslmode=disable',
      redisUrl: 'redis://cache?tls=off',
      smtpUrl: mail('smtp://mail?tls=off'),
    },
    { database: 'not encrypted', redis: 'not encrypted', mail: 'not encrypted' },
  ],
  [
    { databaseUrl: 'postgres://db/x?sslmode=verify-full', redisUrl: 'rediss://cache', smtpUrl: mail('smtp://mail') },
    { database: 'encrypted and verified', redis: 'encrypted and verified', mail: 'encrypted and verified' },
  ],
  [
    { databaseUrl: 'postgres://db/x?sslmode=require', smtpUrl: mail('smtps://mail?tls.rejectUnauthorized=false') },
    { database: 'encrypted, not verified', mail: 'encrypted, not verified' },
  ],
  [
    { databaseUrl: 'postgres://127.0.0.1,db/x', smtpUrl: mail('smtp://mail?requireTLS=false') },
    { database: 'encrypted if the server offers it', mail: 'encrypted if the server offers it' },
  ],
  [{}, {}],
])('how each connection is protected: %j', (addresses, expected) => {
  expect(protections(addresses)).toEqual(expected)
})
