import { describe, expect, it } from 'vitest'
import { siblingFaults, warnOfOriginsWithoutCookies } from './hosts.js'
import { settings } from './settings.js'

const given = { nodeEnv: 'production', publicUrl: 'https://app.example.com', allowedOrigins: [] }

describe('hosts that share a session', () => {
  it('take the host of PUBLIC_URL or a domain above it for cookies, and no other', () => {
    const withDomain = (domain: string) =>
      siblingFaults({ ...given, cookieDomain: settings.COOKIE_DOMAIN.read(domain) })
    for (const domain of ['example.com', 'app.example.com', 'EXAMPLE.com']) expect(withDomain(domain)).toEqual([])
    const elsewhere = ['COOKIE_DOMAIN: must be the host of PUBLIC_URL, or a domain above it']
    for (const domain of ['example.org', 'ample.com', 'x.app.example.com'])
      expect(withDomain(domain)).toEqual(elsewhere)
    for (const domain of ['com', '.example.com', '127.0.0.1', 'https://example.com'])
      expect(() => withDomain(domain)).toThrow('must be a domain with at least two parts, such as example.com')
  })

  it('are origins, by https in production', () => {
    const withOrigins = (origins: string) =>
      siblingFaults({ ...given, allowedOrigins: settings.ALLOWED_ORIGINS.read(origins) })
    expect(withOrigins('https://one.example.com, https://two.example.com:8443')).toEqual([])
    expect(withOrigins('http://one.example.com')).toEqual(['ALLOWED_ORIGINS: must begin with https:// in production'])
    for (const origins of ['*', 'https://*.example.com'])
      expect(() => withOrigins(origins)).toThrow('there are no patterns')
    for (const origins of ['https://one.example.com/path', 'https://user@one.example.com'])
      expect(() => withOrigins(origins)).toThrow('must be an address')
  })

  it('have no bound sessions, which the start says', () => {
    const faultsWith = (boundSessions: string, cookieDomain?: string) =>
      siblingFaults({ ...given, cookieDomain, boundSessions }).map((line) => line.split(':')[0])
    expect(faultsWith('on', 'example.com')).toEqual(['BOUND_SESSIONS'])
    expect([faultsWith('off', 'example.com'), faultsWith('on')]).toEqual([[], []])
  })

  it('get the cookies only below COOKIE_DOMAIN, or at the host of PUBLIC_URL itself', () => {
    const allowedOrigins = ['https://app.example.com:8443', 'https://shop.example.com', 'https://app.example.org']
    const named = (cookieDomain?: string) =>
      warnOfOriginsWithoutCookies({ ...given, allowedOrigins, cookieDomain }).map((line) => line.split(' is ')[0])
    const [shop, foreign] = ['ALLOWED_ORIGINS: https://shop.example.com', 'ALLOWED_ORIGINS: https://app.example.org']
    expect(named()).toEqual([shop, foreign])
    expect(named('example.com')).toEqual([foreign])
  })
})
