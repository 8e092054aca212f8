import { describe, expect, it } from 'vitest'
import { readSmtpUrl } from './smtp-url.js'

describe('the address of a mail server', () => {
  it.each([
    ['smtp://mail.example.com', { host: 'mail.example.com', port: 587, secure: false, requireTLS: false }],
    ['smtps://mail.example.com', { port: 465, secure: true }],
    ['smtp://[::1]:2525', { host: '::1', port: 2525 }],
    ['smtp://ada:p%40ss@mail.example.com', { auth: { user: 'ada', pass: 'p@ss' } }],
    ['smtp://mail.example.com?tls.rejectUnauthorized=false', { tls: { rejectUnauthorized: false } }],
    ['smtp://mail.example.com?ignoreTLS=true', { ignoreTLS: true }],
  ])('reads %s', (url, expected) => {
    expect(readSmtpUrl(url)).toMatchObject(expected)
  })

  it('never sends a password to another machine in the clear, unless told to', () => {
    expect(readSmtpUrl('smtp://ada:secret@mail.example.com')).toMatchObject({ requireTLS: true })
    expect(readSmtpUrl('smtp://ada:secret@mail.example.com?requireTLS=false')).toMatchObject({ requireTLS: false })
    expect(readSmtpUrl('smtp://ada:secret@127.0.0.1')).toMatchObject({ requireTLS: false })
  })

  it.each([
    'mail.example.com',
    'http://mail.example.com',
    'smtp://',
    'smtp://%zz:secret@mail.example.com',
    'smtp://mail.example.com?logger=true',
    'smtp://mail.example.com?requireTLS=yes',
  ])('refuses %s without repeating it', (url) => {
    const read = readSmtpUrl(url)
    expect(read).toHaveProperty('refused')
    expect(JSON.stringify(read)).not.toContain('secret')
  })
})
