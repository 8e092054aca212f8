import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { parse } from 'yaml'
import { proxyLines } from '../../../src/applications/proxy-lines.js'
import { ownSite, type Place, type RunningProxy, sitesOf } from './proxies.js'

type Lines = [name: string, value: string][]

const shipped = (name: string) => readFile(new URL(`../../../deploy/forward-auth/${name}`, import.meta.url), 'utf8')

const linesOf = (raw: readonly string[]): Lines =>
  raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as [string, string]] : []))
const without = (lines: Lines, names: readonly string[]) =>
  lines.filter(([name]) => !names.includes(name.toLowerCase()))
const valuesOf = (lines: Lines, wanted: string) =>
  lines.flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []))
const firstValue = (lines: Lines, wanted: string) => valuesOf(lines, wanted)[0] ?? ''

/** RFC 9110, 7.6.1: what belongs to one connection only, and what its header names. */
const withoutConnection = (lines: Lines) => {
  const named = lines.filter(([name]) => name.toLowerCase() === 'connection').flatMap(([, value]) => value.split(','))
  const always = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']
  return without(lines, [...always, ...named.map((name) => name.trim().toLowerCase())])
}

/** What is asked for: an address in the request line counts more than the Host header. */
const targetOf = ({ url = '/', headers }: IncomingMessage) => {
  const [, host = headers.host ?? '', path = url] = /^https?:\/\/([^/?#]*)(.*)$/s.exec(url) ?? []
  return { host, path: path || '/' }
}

type Answer = { status: number; lines: Lines; body: Buffer }

const send = async (port: number, method: string, path: string, lines: Lines, body?: Buffer): Promise<Answer> => {
  const options = { host: '127.0.0.1', port, method, path, setHost: false, agent: false, headers: lines.flat() }
  const sent = request(options)
  sent.end(body)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: answer.statusCode ?? 0, lines: linesOf(answer.rawHeaders), body: await buffer(answer) }
}

type Behaviour = {
  /** How this host and path are led: to Latchkey itself, to the application by way of the check, or nowhere. */
  wayOf: (host: string, path: string) => 'ours' | 'checked' | undefined
  /** The address of the check, for what was asked. */
  checkPath: (path: string) => string
  /** What the application gets, from what the visitor and the check have sent. */
  copy: (visitor: Lines, answered: Lines) => Lines
  /**
   * When the headers that Connection names go: before all else, or at each request by itself. Then the check is told what it named, if the
   * file says so.
   */
  endsConnectionFirst: boolean
  tellsConnection?: boolean
}

const startStandIn = async (
  place: Place,
  { wayOf, checkPath, copy, endsConnectionFirst, tellsConnection = false }: Behaviour,
): Promise<RunningProxy> => {
  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { host, path } = targetOf(incoming)
    const method = incoming.method ?? 'GET'
    // A host that is not in its files has no router. Names are compared without capitals and without the port.
    const way = wayOf(host.toLowerCase().replace(/:\d+$/, ''), path)
    if (!way) return void outgoing.writeHead(404).end()
    // Go refuses it.
    if (linesOf(incoming.rawHeaders).filter(([name]) => name.toLowerCase() === 'host').length > 1)
      return void outgoing.writeHead(400).end()
    const body = await buffer(incoming)
    const all = without(linesOf(incoming.rawHeaders), ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'])
    const visitor = endsConnectionFirst ? withoutConnection(all) : all
    const forwarded: Lines = [
      ['X-Forwarded-For', '127.0.0.1'],
      ['X-Forwarded-Host', host],
      ['X-Forwarded-Proto', place.certificate ? 'https' : 'http'],
    ]
    const pass = ({ status, lines, body: text }: Answer) => {
      outgoing.writeHead(status, withoutConnection(lines).flat())
      outgoing.end(text)
    }
    if (way === 'ours')
      return pass(await send(place.latchkey, method, path, [...withoutConnection(visitor), ...forwarded], body))
    const asked: Lines = [['X-Forwarded-Method', method], ['X-Forwarded-Uri', path], ...forwarded]
    const ofCheck = ['host', 'content-length', 'x-forwarded-method', 'x-forwarded-uri', 'x-forwarded-connection']
    const headers: Lines = [
      ['Host', `127.0.0.1:${place.latchkey}`],
      ...without(withoutConnection(visitor), ofCheck),
      ...asked,
      ...(tellsConnection
        ? [['X-Forwarded-Connection', valuesOf(visitor, 'connection').join(',')] as [string, string]]
        : []),
    ]
    const checked = await send(place.latchkey, 'GET', checkPath(path), headers)
    if (checked.status < 200 || checked.status > 299) return pass(checked)
    const toApplication = withoutConnection(copy(visitor, checked.lines))
    return pass(await send(place.application, method, path, [...toApplication, ...forwarded], body))
  }
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse) =>
    void handle(incoming, outgoing).catch(() => outgoing.destroy())
  const { certificate } = place
  const pem = (name: string) => readFile(join(certificate ?? '', name))
  const server = certificate
    ? createSecureServer({ key: await pem('privkey.pem'), cert: await pem('fullchain.pem') }, answer)
    : createServer({ requireHostHeader: false }, answer)
  await new Promise<void>((resolve) => server.listen(place.port, '127.0.0.1', resolve))
  return {
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type Router = { host: string; path: string; isSecure: boolean; isOurs: boolean }

/** The printed lines: a router by its labels, one by a file. */
const routersOf = (place: Place): Router[] => {
  const parts = new Map<string, Record<string, string>>()
  for (const site of sitesOf(place))
    for (const label of (parse(proxyLines.traefik.site(site)) as { labels: string[] }).labels) {
      const [, router = '', key = '', value = ''] = /^traefik\.http\.routers\.([\w-]+)\.(\w+)=(.*)$/.exec(label) ?? []
      parts.set(router, { ...parts.get(router), [key]: value })
    }
  const { http } = parse(proxyLines.traefik.once(ownSite(place))) as {
    http: { routers: Record<string, { rule: string; service: string; tls?: object }> }
  }
  const { rule, service, tls } = http.routers.latchkey ?? { rule: '', service: '' }
  parts.set('latchkey', { rule, service: `${service}@file`, ...(tls && { tls: 'true' }) })
  return [...parts].map(([name, { rule = '', tls, service, middlewares }]) => {
    const [, host = '', path = ''] = /^Host\(`([^`]+)`\)(?: && PathPrefix\(`([^`]+)`\))?$/.exec(rule) ?? []
    if (host === '' || (service !== 'latchkey@file' && middlewares !== 'latchkey@file'))
      throw new Error(`The router ${name} was not understood`)
    return { host, path, isSecure: tls === 'true', isOurs: service === 'latchkey@file' }
  })
}

/**
 * Traefik cannot be had everywhere. This one does what its documentation says of ForwardAuth: `authResponseHeaders` is the “list of
 * headers to copy from the authentication server response and set on forwarded request, replacing any existing conflicting headers”; without
 * `authRequestHeaders` “all request headers are copied”; of any answer but 2xx “the response from the authentication server is returned”.
 * https://doc.traefik.io/traefik/v3.3/reference/routing-configuration/http/middlewares/forwardauth/
 */
export const startTraefikStandIn = async (place: Place) => {
  const { http } = parse(await shipped('latchkey.traefik.yaml')) as {
    http: {
      middlewares: {
        latchkey: { forwardAuth: { address: string; authResponseHeaders: string[]; authRequestHeaders?: string[] } }
      }
    }
  }
  const { address, authResponseHeaders, authRequestHeaders } = http.middlewares.latchkey.forwardAuth
  if (authRequestHeaders !== undefined) throw new Error('The check would not see all headers of the visitor')
  const names = authResponseHeaders.map((name) => name.toLowerCase())
  // The longest rule is asked first. A router without TLS sees no request that comes with it.
  const routers = routersOf(place)
    .filter(({ isSecure }) => isSecure === (place.certificate !== undefined))
    .sort((one, other) => other.path.length - one.path.length)
  return startStandIn(place, {
    wayOf: (host, path) => {
      const router = routers.find((each) => each.host === host && path.startsWith(each.path))
      return router && (router.isOurs ? 'ours' : 'checked')
    },
    checkPath: () => new URL(address).pathname,
    copy: (visitor, answered) => [
      ...without(visitor, names),
      ...answered.filter(([name]) => names.includes(name.toLowerCase())),
    ],
    endsConnectionFirst: true,
  })
}

/** Caddy 2.10.0 to 2.11.1, which keep the header of the visitor if that of the answer is empty or absent (GHSA-7r4p-vjf4-gxv4). */
export const startCaddyStandIn = async (place: Place) => {
  const file = await shipped('latchkey.caddyfile')
  const names = (/copy_headers (.*)/.exec(file)?.[1] ?? '').toLowerCase().split(' ')
  const path = /uri (\S+)/.exec(file)?.[1] ?? ''
  const removals = [...file.matchAll(/^\trequest_header (\S+) "(.*)" "\$99"$/gm)].map(
    ([, name = '', pattern = '']) => ({
      name: name.toLowerCase(),
      pattern: new RegExp(pattern, 'g'),
    }),
  )
  if (names.length < 5 || removals.length !== 5) throw new Error('The file was not understood')
  return startStandIn(place, {
    wayOf: (host) => (place.hosts.includes(host) ? 'checked' : undefined),
    checkPath: (asked) => path + (asked.includes('?') ? asked.slice(asked.indexOf('?')) : ''),
    copy: (visitor, answered) => {
      const copied = names.flatMap((name): Lines => {
        const value = firstValue(answered, name)
        return value === '' ? [] : [[name, value]]
      })
      const kept = without(
        visitor,
        copied.map(([name]) => name),
      )
      return [...kept, ...copied].map(([name, value]): [string, string] => [
        name,
        removals
          .filter((removal) => removal.name === name.toLowerCase())
          .reduce((text, { pattern }) => text.replaceAll(pattern, ''), value),
      ])
    },
    endsConnectionFirst: false,
    tellsConnection: file.includes('header_up X-Forwarded-Connection {http.request.header.Connection}'),
  })
}
