import fc from 'fast-check'

/** The usual value four times of five, so that most requests are odd in one or two places only. */
const mostly = <Value>(usual: fc.Arbitrary<Value>, odd: fc.Arbitrary<Value>, weight = 8) =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 2, arbitrary: odd })

const method = mostly(
  fc.constant('GET'),
  fc.constantFrom('HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'get', 'GETS'),
)

const target = mostly(
  fc.constantFrom(
    '/api/auth/verify',
    '/api/auth/me',
    '/api/auth/verify?renew=1',
    '/api/auth/verify?group=staff',
    '/api/auth/verify?renew=1&group=guests,staff',
    '/api/auth/verify?group=guests&renew=1',
    ...Array<string>(4).fill('/api/auth/forward'),
  ),
  fc.constantFrom(
    ...[
      '/api/auth/verify?',
      '/api/auth/verify?renew=%31',
      '/api/auth/verify?renew=1&renew=1',
      '/api/auth/verify?fresh=10m',
      '/api/auth/verify?factors=2',
      '/api/auth/verify?group=',
      '/api/auth/verify?group=staff,',
      '/api/auth/verify?group=Staff',
      '/api/auth/verify?group=%73taff',
      '/api/auth/verify?group=staff+guests',
      '/api/auth/verify?group=staff&group=guests',
      '/api/auth/verify?renew=1&group=staff&renew=1',
      '/api/auth/verify?group=staff&fresh=10m',
      '/api/auth/verify?group=-staff',
      `/api/auth/verify?group=${Array(17).fill('staff')}`,
      '/api/auth/me?a=%00',
      '/api/auth/forward?',
      '/api/auth/forward?a=1',
      '/api/auth/forward?group=staff',
      '/api/auth/forwarded',
      '/api/auth/forward/',
      '/api/auth/me?a=%zz',
      '/api/auth/me#a',
    ],
    ...['/api/auth/verify/', '//api/auth/verify', '/api//auth/me', '/./api/auth/me', '/api/auth/x/../me'],
    ...['/api/auth/Verify', '/API/auth/me', '/api/auth/m%65', '/api%2Fauth/me', '/api/auth/me;a=1', '/api/auth/me%00'],
    ...['http://localhost/api/auth/verify', 'https://evil.example/api/auth/me', '/api/auth', '/api/auth/mee', '/', '*'],
  ),
)

const cookiePart = (token: fc.Arbitrary<string>) =>
  fc.oneof(
    { weight: 6, arbitrary: token.map((text) => `access_token=${text}`) },
    { weight: 4, arbitrary: fc.constantFrom('theme=dark', 'refresh_token=a.b.c', 'a=b=c', 'lang="de"') },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        ...['__Host-latchkey=known', '__Host-latchkey=known~other', '__Host-latchkey=other~known', 'latchkey=known'],
        ...['__Host-latchkey="known"', '__Host-latchkey=known~', '__Host-latchkey', '__host-latchkey=known'],
      ),
    },
    {
      weight: 5,
      arbitrary: token.chain((text) =>
        fc.constantFrom(
          ...[`access_token="${text}"`, ` access_token=${text}`, `access_token =${text}`, `access_token= ${text} `],
          ...[`\xa0access_token=${text}`, `access_token=\xa0${text}`, `access_token=${text}\t`, `Access_Token=${text}`],
          ...[`my_access_token=${text}`, `access_token2=${text}`, `=access_token=${text}`, `a=access_token=${text}`],
          ...['access_token', 'access_token=', 'access_token==', 'a=access_token', '', ' ', '=', `access_token${text}`],
          ...[
            `access_token=${text.replace('.', '%2E')}`,
            `access_token=${text},`,
            `access_token=${text.toUpperCase()}`,
          ],
        ),
      ),
    },
    { weight: 1, arbitrary: fc.string({ maxLength: 20 }).map((text) => text.replaceAll(/[\r\n\0]/g, '_')) },
  )

/** Most browsers send one header. HTTP/2 proxies may send several. */
const cookieLines = (token: fc.Arbitrary<string>) => {
  const separator = mostly(fc.constant('; '), fc.constantFrom(';', ';  ', ' ; ', ';\t', ', ', ' ', ';;'), 20)
  const parts = fc.array(fc.tuple(cookiePart(token), separator), { minLength: 1, maxLength: 4 })
  const odd = parts.map((all) => all.map(([part, after], place) => (place < all.length - 1 ? part + after : part)))
  const usual = fc.tuple(
    fc.constantFrom('', 'theme=dark; ', '__Host-latchkey=known; '),
    token,
    fc.constantFrom('', '; refresh_token=a.b.c'),
  )
  const value = mostly(
    usual.map(([before, text, after]) => `${before}access_token=${text}${after}`),
    odd.map((all) => all.join('')),
    3,
  )
  const line = fc.tuple(fc.constantFrom('Cookie', 'cookie', 'COOKIE'), value).map(([name, text]) => `${name}: ${text}`)
  return mostly(
    line.map((one) => [one]),
    fc.array(line, { maxLength: 3 }),
  )
}

const otherLine = fc.constantFrom(
  ...['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: same-site', 'sec-fetch-site: none'],
  ...[
    'Sec-Fetch-Site: Cross-Site',
    'Sec-Fetch-Site: cross-site, none',
    'Sec-Fetch-Dest: document',
    'Sec-Fetch-Dest: image',
  ],
  ...['Sec-Purpose: prefetch', 'Origin: https://localhost', 'Origin: https://evil.example', 'Origin: null'],
  ...[
    'Content-Type: application/json',
    'Content-Type: text/plain',
    'Content-Length: 0',
    'Accept: text/html',
    'Accept: */*',
  ],
  ...[
    'X-Forwarded-For: 192.0.2.1',
    'X-Forwarded-Host: evil.example',
    'X-Original-URI: /a',
    'Authorization: Bearer a.b.c',
    'Authorization: Bearer eyJhbGciOiJFUzI1NiJ9.e30.AAAA',
    'authorization: bearer  eyJhbGciOiJFUzI1NiJ9.e30.AAAA ',
    'X-Auth-Client: a',
    'X_Auth_Scope: read',
  ],
  ...[
    'Connection: close',
    'Connection: keep-alive',
    'Connection: upgrade',
    'Upgrade: websocket',
    'Expect: 100-continue',
  ],
  ...['Expect: 200-ok', 'Accept-Version: 1.0.0', 'If-None-Match: *', 'Range: bytes=0-1', 'Accept-Encoding: gzip, br'],
  ...[
    'X-HTTP-Method-Override: POST',
    'Keep-Alive: timeout=1',
    'TE: trailers',
    'User-Agent: a',
    `X-Long: ${'x'.repeat(9000)}`,
  ],
  ...[`X-Too-Long: ${'x'.repeat(13_000)}`, 'bad header', 'Host: other.example'],
)

/** What a proxy says about its visitor. Other routes do not read it. */
const proxied = fc
  .record({
    method: mostly(fc.constant('GET'), fc.constantFrom('HEAD', 'POST', 'OPTIONS', 'get', ''), 30),
    proto: mostly(fc.constant('https'), fc.constantFrom('wss', 'http', 'https,http', ''), 30),
    host: mostly(
      fc.constantFrom(
        'wiki.localhost',
        'WIKI.localhost:443',
        'mcp.localhost',
        'family.localhost',
        'open.localhost',
        'bank.localhost',
        'elsewhere.example',
        'guests.example',
      ),
      fc.constantFrom('wiki.localhost.', 'wiki.localhost:80', 'evil.example', 'wiki.localhost@evil.example', ''),
      20,
    ),
    uri: mostly(
      fc.constantFrom('/', '/page?a=1', '/public/a'),
      fc.constantFrom('/public/../a', '/public/%2e%2e/a', 'page', '*', '//evil.example/', 'https://evil.example/'),
      20,
    ),
    more: mostly(
      fc.constant<string[]>([]),
      fc.constantFrom<string[]>(
        ['X-Forwarded-Uri: /public/'],
        ['X-Original-URL: https://wiki.localhost/public/'],
        ['X-Auth-Groups: staff'],
        ['X_Auth_User_Id: 1'],
        ['X-Rewrite-URL: /admin'],
        ['Authorization: Basic eDp5', 'Authorization: Basic eDp6'],
        ['Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document'],
        ['Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: iframe'],
      ),
      20,
    ),
  })
  .chain(({ method, proto, host, uri, more }) => {
    const forwarded = [`Method: ${method}`, `Proto: ${proto}`, `Host: ${host}`, `Uri: ${uri}`]
    const four = forwarded.map((line) => `X-Forwarded-${line}`)
    const two = [`X-Original-Method: ${method}`, `X-Original-URL: ${proto}://${host}${uri}`]
    return mostly(fc.constantFrom(four, two), fc.constantFrom<string[]>([], four.slice(1), two.slice(1)), 20).map(
      (lines) => [...lines, ...more],
    )
  })

type Body = { lines: string[]; body: string }

const bodyWith = fc.constantFrom<Body[]>(
  { lines: ['Content-Length: 2', 'Content-Type: application/json'], body: '{}' },
  { lines: ['Content-Length: 5'], body: 'hello' },
  { lines: ['Transfer-Encoding: chunked'], body: '5\r\nhello\r\n0\r\n\r\n' },
  { lines: ['Transfer-Encoding: chunked', 'Content-Length: 5'], body: '0\r\n\r\n' },
)

/** Whole requests as bytes, with tokens that the service accepts and others. */
export const requestsFrom = (good: string[], bad: string[]) => {
  const token = mostly(fc.constantFrom(...good), fc.oneof(fc.constantFrom(...bad), fc.base64String({ maxLength: 60 })))
  return fc
    .record({
      start: fc.tuple(method, target, mostly(fc.constant('HTTP/1.1'), fc.constantFrom('HTTP/1.0', 'HTTP/2.0'), 40)),
      host: mostly(
        fc.constant<string[]>(['Host: localhost']),
        fc.constantFrom<string[][]>([], ['Host: '], ['Host: a', 'Host: b']),
        40,
      ),
      cookies: cookieLines(token),
      proxied,
      others: mostly(fc.constant<string[]>([]), fc.array(otherLine, { minLength: 1, maxLength: 3 }), 2),
      sent: mostly(fc.constant<Body>({ lines: [], body: '' }), bodyWith, 30),
    })
    .map(({ start, host, cookies, others, proxied, sent }) =>
      [start.join(' '), ...host, ...others, ...proxied, ...cookies, ...sent.lines, '', sent.body].join('\r\n'),
    )
}
