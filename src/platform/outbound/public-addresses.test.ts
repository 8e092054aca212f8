import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createOutbound, OutboundFailed, type OutboundOptions } from './outbound.js'

import {
  isPublicAddress,
  isPublicOrLoopbackAddress,
  isPublicOrPrivateAddress,
  type Resolve,
} from './public-addresses.js'

describe('a public address', () => {
  it.each(['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8'])('is %s', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  it.each([
    '127.0.0.1',
    '127.1.2.3',
    '0.0.0.0',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '100.100.100.200',
    '169.254.169.254',
    '168.63.129.16',
    '192.0.2.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::169.254.169.254',
    '64:ff9b:1::808:808',
    '2002:7f00:1::',
    '2001::1',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '2001:db8::1',
    'localhost',
    '',
  ])('is not %s', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })
})

describe('a private address that may be allowed', () => {
  const internal = ['127.0.0.1', '10.0.0.1', '192.168.1.1', '100.64.0.1', '::1', '::ffff:10.0.0.1', 'fd12::1']
  it.each(['8.8.8.8', ...internal])('is %s', (address) => {
    expect(isPublicOrPrivateAddress(address)).toBe(true)
  })

  const metadata = ['169.254.169.254', '::ffff:a9fe:a9fe', 'fe80::1', 'fe80::1%eth0', 'fd00:ec2::254', 'fd20:ce::254']
  const more = [
    'fd00:ec2::23',
    '100.100.100.200',
    '168.63.129.16',
    '64:ff9b::169.254.169.254',
    '64:ff9b::10.0.0.1',
    '0.0.0.0',
    '::',
  ]
  it.each([...metadata, ...more, '224.0.0.1', '255.255.255.255', 'localhost'])('is not %s', (address) => {
    expect(isPublicOrPrivateAddress(address)).toBe(false)
    expect(isPublicOrLoopbackAddress(address)).toBe(false)
  })

  it('is for development this machine only', () => {
    expect(['8.8.8.8', ...internal].filter(isPublicOrLoopbackAddress)).toEqual(['8.8.8.8', '127.0.0.1', '::1'])
  })
})

describe('requests to public addresses only', () => {
  const ends: (() => void)[] = []
  afterEach(() => {
    for (const end of ends.splice(0)) end()
  })

  const serve = async (size: number) => {
    let requests = 0
    const server = createServer((_request, response) => {
      requests += 1
      response.end(Buffer.alloc(size))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ends.push(() => server.close().closeAllConnections())
    return { port: (server.address() as AddressInfo).port, requests: () => requests }
  }

  const outcome = async (url: string, options: OutboundOptions) => {
    const outbound = createOutbound({
      mayReach: isPublicAddress,
      allowPlainHttp: true,
      totalTimeout: 5_000,
      ...options,
    })
    return outbound
      .withDeadline()(url)
      .then(
        ({ status }) => status,
        (error: unknown) => (error instanceof OutboundFailed ? error.code : error),
      )
  }

  const resolvingTo =
    (...addresses: string[]): Resolve =>
    (_hostname, _options, callback) => {
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    }

  it('never reach this machine: not by an address, a name, or another way to write the address', async () => {
    const { port, requests } = await serve(0)
    for (const host of ['127.0.0.1', '[::1]', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]', 'localhost', '0'])
      expect(await outcome(`http://${host}:${port}/`, {}), host).toBe('private_address')
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254'])
      expect(await outcome(`http://receiver.example:${port}/`, { resolve: resolvingTo(address) }), address).toBe(
        'private_address',
      )
    expect(requests()).toBe(0)
  })

  it('gain nothing from a name that changes its address after a look at it', async () => {
    const { port, requests } = await serve(0)
    const looks: string[] = []
    const changing: Resolve = (hostname, options, callback) => {
      looks.push(hostname)
      resolvingTo(looks.length === 1 ? '8.8.8.8' : '127.0.0.1')(hostname, options, callback)
    }
    // A look at the name gives the public address, as a check before the request would see it.
    changing('receiver.example', { all: true }, (_error, [first]) => expect(first?.address).toBe('8.8.8.8'))
    expect(await outcome(`http://receiver.example:${port}/`, { resolve: changing })).toBe('private_address')
    expect(looks).toHaveLength(2)
    expect(requests()).toBe(0)
  })

  it('take the status of an answer of 10 MB, and leave the rest', async () => {
    const { port } = await serve(10 * 1024 * 1024)
    const url = `http://127.0.0.1:${port}/`
    expect(await outcome(url, { mayReach: undefined, maximumBytes: 4096, cutBody: true })).toBe(200)
    expect(await outcome(url, { mayReach: undefined, maximumBytes: 4096 })).toBe('too_large')
  })
})
