import { describe, expect, it } from 'vitest'
import { readRedisAddress } from './redis-address.js'

const at = (host: string, port = 6_379) => ({ host, port })

describe('the address of Redis', () => {
  it.each([
    ['redis://cache', { kind: 'single', tls: false, address: at('cache'), db: 0 }],
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

  it.each([
    '',
    'cache:6379',
    'http://cache',
    'redis://',
    'redis://cache:0',
    'redis://cache:70000',
    'redis://cache/one',
    'redis://one,two/3',
    'redis://one,,two',
    'redis+sentinel://s1',
    'redis://:50%@cache',
    'redis://ca che',
  ])('"%s" is none', (url) => {
    expect(readRedisAddress(url)).toEqual({
      refused: 'invalid_address',
      reason: 'must be an address such as redis://localhost:6379',
    })
  })
})
