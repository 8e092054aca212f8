import { describe, expect, it } from 'vitest'
import { checkEncryption } from './doctor-encryption.js'

describe('the encryption of the way to the database', () => {
  it.each([
    [
      'postgres://u:s3cret@db.example.com/x',
      /^warning: .* to db\.example\.com is encrypted only if the server offers it/,
    ],
    ['postgres://u:s3cret@localhost,10.0.0.7:5433/x', /^warning: .* to 10\.0\.0\.7 is encrypted only if/],
    ['postgres://u:s3cret@db.example.com/x?sslmode=disable', /^warning: .*not encrypted/],
    ['postgres://u:s3cret@db.example.com/x?sslmode=require', /^ok: .*not checked/],
    ['postgres://u:s3cret@db.example.com/x?sslmode=verify-full', /^ok: .*name are checked/],
    ['postgres://u:s3cret@127.0.0.1/x', /^ok: /],
    ['postgres://u:s3cret@[::1]/x', /^ok: /],
    ['postgres://u:s3cret@/x?host=/var/run/postgresql', /^ok: /],
  ])('is judged by the address: %s', (url, expected) => {
    const { level, says } = checkEncryption(url)
    expect(`${level}: ${says}`).toMatch(expected)
    expect(says).not.toContain('s3cret')
  })
})
