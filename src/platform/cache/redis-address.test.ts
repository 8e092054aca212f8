import { describe, expect, it } from 'vitest'
import { readRedisAddress } from './redis-address.js'

const at = (host: string, port = 6_379) => ({ host, port })

describe('the address of Redis', () => {
  it.each([
    ['redis://cache', { kind: 'single', tls: false, address: at('cache'), db: 0 }],
    ['redis://cache?tls=off', { kind: 'single', tls: false, saysPlain: true, address: at('cache'), db: 0 }],
    ['redis://cache:7000/3', { kind: 'single', tls: false, address: at('cache', 7_000), db: 3 }],
    ['rediss://[2001:db8::1]:7000', { kind: 'single', tls: true, address: at('2001:db8::1', 7_000), db: 0 }],
    [
      'redis://ada:p%40ss:word@cache',
      { kind: 'single', tls: false, address: at('cache'), db: 0, username: 'ada', password: 'p@ss:word' },
    ],
    ['redis://:secret@cache', { kind: 'single', tls: false, address: at('cache'), db: 0, password: 'secret' }],
    ['redis://one:7001,two:7002', { kind: 'cluster', tls: false, addresses: [at('one', 7_001), at('two', 7_002)] }],
    [
      'rediss://ada:secret@one,two',
      { kind: 'cluster', tls: true, addresses: [at('one'), at('two')], username: 'ada', password: 'secret' },
    ],
    ['redis+cluster://entrance', { kind: 'cluster', tls: false, addresses: [at('entrance')] }],
    [
      'redis+sentinel://s1,s2:26380/mymaster',
      { kind: 'sentinel', tls: false, addresses: [at('s1', 26_379), at('s2', 26_380)], master: 'mymaster' },
    ],
    [
      'rediss+sentinel://:secret@s1/mymaster?sentinel_password=other',
      {
        kind: 'sentinel',
        tls: true,
        addresses: [at('s1', 26_379)],
        master: 'mymaster',
        password: 'secret',
        sentinelPassword: 'other',
      },
    ],
  ])('%s', (url, address) => {
    expect(readRedisAddress(url)).toEqual(address)
  })

  const inPasswords = 'in a password, @ is written %40, : %3A, / %2F and ? %3F'
  const noAddress = 'must be an address such as redis://localhost:6379, or rediss:// for TLS'
  const port = `names a port that is not a number from 1 to 65535: ${inPasswords}`
  const host = `names a host that cannot be read: ${inPasswords}`
  it.each([
    ['', noAddress],
    ['cache:6379', noAddress],
    ['http://cache', noAddress],
    ['redis://', noAddress],
    ['redis://cache:0', port],
    ['redis://cache:70000', port],
    ['redis://:pass/word@cache', host],
    ['redis://ada:pass/word@cache', port],
    ['redis://:pass@word@cache', `cannot be read: ${inPasswords}`],
    ['redis://cache/one', 'names a database that is not a number: write /0 at the end, or nothing'],
    ['redis://one,two/3', 'names a database, and a Cluster has none but 0: remove the number'],
    ['redis://one,,two', host],
    ['redis://cache?tls=on', 'tls can only be off; write rediss:// for TLS'],
    ['rediss://cache?tls=off', 'asks for TLS with rediss:// and switches it off with tls=off'],
    ['redis://cache?tsl=off', 'may have only these settings: tls, sentinel_password'],
    ['redis+sentinel://s1', 'must name the master after the sentinels: redis+sentinel://one:26379,two:26379/mymaster'],
    ['redis://:50%@cache', 'has a % that is not followed by two hexadecimal digits: in a password, % is written %25'],
    ['redis://ca che', host],
  ])('"%s" is none, and the reason says why', (url, reason) => {
    expect(readRedisAddress(url)).toEqual({ refused: 'invalid_address', reason })
  })
})
