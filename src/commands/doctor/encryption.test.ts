import { describe, expect, it } from 'vitest'
import { readRedisAddress } from '../../platform/cache/redis-address.js'
import { validAddress } from '../../platform/invalid-address.js'
import { readSmtpAddress } from '../../platform/mail/smtp-address.js'
import { checkDatabaseEncryption, checkMailEncryption, checkRedisEncryption } from './check.js'

describe('the encryption of the connection to the database', () => {
  it.each([
    [
      'postgres://u:s3cret@db.example.com/x',
      /^warning: .* to db\.example\.com is encrypted only if the server offers it/,
    ],
    ['postgres://u:s3cret@localhost,10.0.0.7:5433/x', /^warning: .* to 10\.0\.0\.7 is encrypted only if/],
    ['postgres://u:s3cret@db.example.com/x?sslmode=disable', /^warning: .*not encrypted/],
    ['postgres://u:s3cret@db.example.com/x?sslmode=require', /^warning: .*the identity of the server is not checked/],
    ['postgres://u:s3cret@db.example.com/x?sslmode=verify-full', /^ok: .*certificate is checked/],
    ['postgres://u:s3cret@db.example.com/x?sslmode=verify-ca', /^ok: .*certificate is checked/],
    ['postgres://u:s3cret@127.0.0.1/x', /^ok: .*on this machine/],
    ['postgres://u:s3cret@[::1]/x', /^ok: /],
    ['postgres://u:s3cret@/x?host=/var/run/postgresql', /^ok: /],
  ])('is judged by the address: %s', (url, expected) => {
    const { level, says } = checkDatabaseEncryption(url)
    expect(`${level}: ${says}`).toMatch(expected)
    expect(says).not.toContain('s3cret')
  })
})

it.each([
  ['redis://:s3cret@127.0.0.1', /^ok: .*on this machine/],
  ['rediss://:s3cret@cache.example.com', /^ok: .* to cache\.example\.com is encrypted/],
  ['redis://:s3cret@127.0.0.1,cache.example.com?tls=off', /^warning: .* to cache\.example\.com is not encrypted/],
])('the encryption of the connection to Redis is judged by the address: %s', (url, expected) => {
  const { level, says } = checkRedisEncryption(validAddress('REDIS_URL', readRedisAddress(url)))
  expect(`${level}: ${says}`).toMatch(expected)
  expect(says).not.toContain('s3cret')
})

it.each([
  ['smtp://127.0.0.1:2525', /^ok: .*on this machine/],
  ['smtp://mail.example.com', /^ok: .* to mail\.example\.com is encrypted/],
  ['smtps://u:s3cret@mail.example.com', /^ok: .* is encrypted/],
  ['smtp://mail.example.com?requireTLS=false', /^warning: .*only if the server offers it/],
  ['smtp://mail.example.com?tls=off', /^warning: .*not encrypted/],
  ['smtps://mail.example.com?tls.rejectUnauthorized=false', /^warning: .*not checked/],
])('the encryption of the connection to the mail server is judged by the address: %s', (url, expected) => {
  const { level, says } = checkMailEncryption(validAddress('SMTP_URL', readSmtpAddress(url)))
  expect(`${level}: ${says}`).toMatch(expected)
  expect(says).not.toContain('s3cret')
})
