import { describe, expect, it } from 'vitest'
import { readSmtpAddress } from './smtp-address.js'

describe('the address of a mail server', () => {
  it.each([
    ['smtp://mail.example.com', { host: 'mail.example.com', port: 587, secure: false, requireTLS: true }],
    ['smtps://mail.example.com', { port: 465, secure: true }],
    ['smtp://[::1]:2525', { host: '::1', port: 2525 }],
    ['smtp://ada:p%40ss@mail.example.com', { auth: { user: 'ada', pass: 'p@ss' } }],
    ['smtp://mail.example.com?tls.rejectUnauthorized=false', { tls: { rejectUnauthorized: false } }],
    ['smtp://mail.example.com?ignoreTLS=true', { ignoreTLS: true, requireTLS: false }],
    ['smtp://ada:secret@mail.example.com:25?tls=off', { ignoreTLS: true, requireTLS: false, port: 25 }],
  ])('reads %s', (url, expected) => {
    expect(readSmtpAddress(url)).toMatchObject(expected)
  })

  it('never sends anything unencrypted to another machine, unless the address says so', () => {
    expect(readSmtpAddress('smtp://mail.example.com')).toMatchObject({ requireTLS: true })
    expect(readSmtpAddress('smtp://ada:secret@mail.example.com')).toMatchObject({ requireTLS: true })
    expect(readSmtpAddress('smtp://ada:secret@mail.example.com?requireTLS=false')).toMatchObject({ requireTLS: false })
    expect(readSmtpAddress('smtp://ada:secret@127.0.0.1')).toMatchObject({ requireTLS: false })
  })

  it.each([
    'mail.example.com',
    'http://mail.example.com',
    'smtp://',
    'smtp://%zz:secret@mail.example.com',
    'smtp://mail.example.com?logger=true',
    'smtp://mail.example.com?requireTLS=yes',
    'smtp://mail.example.com?tls=on',
    'smtps://mail.example.com?tls=off',
    'smtp://mail.example.com?tls=off&requireTLS=true',
  ])('refuses %s without repeating it', (url) => {
    const read = readSmtpAddress(url)
    expect(read).toMatchObject({ refused: 'invalid_address', reason: expect.any(String) })
    expect(JSON.stringify(read)).not.toContain('secret')
  })
})
