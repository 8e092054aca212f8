import fc from 'fast-check'

export type Operation = { method: string; path: string; schema?: BodySchema | undefined; query: readonly string[] }
type BodySchema = { properties?: Record<string, unknown> }

/** The cookies of the tester that are sent, and the CSRF token. */
type Standing = { session: 'none' | 'both' | 'access' | 'refresh'; csrf: 'none' | 'ours' | 'odd' }

export type FuzzRequest = Standing & {
  method: string
  path: string
  headers: Record<string, string>
  cookies: string
  body: Buffer | undefined
}

type Document = {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: { in: string; name: string }[]
        requestBody?: { content: Record<string, { schema: BodySchema }> }
      }
    >
  >
}

export const operationsOf = (document: unknown): Operation[] =>
  Object.entries((document as Document).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      schema: requestBody?.content['application/json']?.schema,
      query: parameters.filter((each) => each.in === 'query').map(({ name }) => name),
    })),
  )

/** Texts that have broken programs before, ours or others. */
const knownTrouble = fc.constantFrom(
  ...['', '\0', 'a\0b', '\ud800', 'a\udc00', '\u202eadmin', '\u0130', 'ﬀ', 'e\u0301'.repeat(40), '🔑'.repeat(300)],
  ...['ada', 'ada@example.com', '__proto__', 'constructor', 'toString', "' or 1=1 --", '%', '%00', '..', '/../../x'],
  ...['<script>', '{{7*7}}', 'x'.repeat(64), 'x'.repeat(65), 'x'.repeat(254), 'x'.repeat(1024), 'x'.repeat(1025)],
  ...['4@8({[</369&#!1/|0$5+7%2'.repeat(4), 'violet-Harbor-91-lantern', '00000000-0000-7000-8000-000000000000'],
)
const oddText = fc.oneof(
  { weight: 3, arbitrary: knownTrouble },
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 60 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  { weight: 1, arbitrary: fc.string({ minLength: 300, maxLength: 1500 }) },
)
const oddValue = fc.oneof(
  { weight: 5, arbitrary: oddText },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, true, false, 0, -1, 2 ** 53, 1e308, 1e-7, [], {}) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.dictionary(oddText, oddText, { maxKeys: 4 }) },
  { weight: 1, arbitrary: fc.array(oddText, { maxLength: 5 }) },
)

const rawBodies = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.integer({ min: 1, max: 7_000 }).map((depth) => Buffer.from('['.repeat(depth))),
  fc.integer({ min: 1, max: 2_000 }).map((depth) => Buffer.from(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)),
  fc.integer({ min: 15_000, max: 20_000 }).map((size) => Buffer.from(JSON.stringify({ password: 'x'.repeat(size) }))),
  fc.constantFrom('{"a":1,"a":2}', '{"__proto__":{}}', '"', 'nul', '\ufeff{}', '{}x').map((text) => Buffer.from(text)),
)

/** Bodies with the properties of the schema, each with any value, beside properties that it does not name. */
const shapedBodies = (schema: BodySchema) => {
  const named = Object.keys(schema.properties ?? {})
  const known = fc.record(Object.fromEntries(named.map((name) => [name, oddValue])), { requiredKeys: [] })
  const whole = fc.record(Object.fromEntries(named.map((name) => [name, oddText as fc.Arbitrary<unknown>])))
  return fc.oneof(
    { weight: 4, arbitrary: whole },
    { weight: 3, arbitrary: known },
    {
      weight: 1,
      arbitrary: fc.tuple(whole, fc.dictionary(oddText, oddValue, { maxKeys: 4 })).map(([a, b]) => ({ ...b, ...a })),
    },
  )
}

const bodiesOf = (schema: BodySchema | undefined) => {
  const json = schema ? shapedBodies(schema) : oddValue
  return fc.oneof(
    { weight: 6, arbitrary: json.map((value) => Buffer.from(JSON.stringify(value) ?? 'null')) },
    { weight: 2, arbitrary: rawBodies },
    { weight: schema ? 1 : 6, arbitrary: fc.constant(undefined) },
  )
}

/** Texts that a header can carry: Latin letters, no control characters. */
const headerText = fc.oneof(
  oddText.map((text) => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?').slice(0, 600)),
  fc.constantFrom(
    'null',
    '*/*',
    'de, fr;q=0.9, *;q=0',
    '127.0.0.1, ::1',
    '::ffff:1.2.3.4',
    'https://evil.example',
    'x;q=1e9',
  ),
)
const headerNames = fc.constantFrom(
  ...['accept', 'accept-language', 'accept-encoding', 'user-agent', 'x-forwarded-for', 'x-forwarded-proto', 'origin'],
  ...['referer', 'forwarded', 'x-real-ip', 'authorization', 'if-none-match', 'range', 'x-http-method-override'],
)
const siteHeaders = fc.constantFrom<Record<string, string>>(
  {},
  { 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document' },
  { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' },
  { 'sec-fetch-site': 'same-site' },
)
const contentTypes = fc.oneof(
  { weight: 9, arbitrary: fc.constant('application/json') },
  { weight: 1, arbitrary: headerText },
)

const cookieNames = ['access_token', 'refresh_token', 'csrf_secret', 'registration', 'attempt_AAAAAAAAAAAA', 'x', '']
const cookieText = headerText.map((text) => text.replaceAll(/[;,\t]/g, '').slice(0, 80))
const oddCookies = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.tuple(fc.constantFrom(...cookieNames), cookieText), { maxLength: 12 })
      .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('; ')),
  },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 900 }).map((count) => 'attempt_;'.repeat(count)) },
)

const inPath = oddText.map((text) => encodeURIComponent(text.toWellFormed()).slice(0, 900))
const pathOf = (path: string) => {
  const parts = path.split(/(\{\w+\})/)
  const values = parts.map((part) => {
    if (!part.startsWith('{')) return fc.constant(part)
    return fc.oneof(
      inPath,
      fc.constantFrom('%', '%zz', '%00', '%ff', 'provider-a', 'urn:uuid:00000000-0000-7000-8000-000000000000'),
    )
  })
  return fc.tuple(...values).map((chosen) => chosen.join(''))
}
const queryOf = (names: readonly string[]) =>
  fc
    .array(fc.tuple(fc.oneof(fc.constantFrom('state', 'code', 'x', ...names), inPath), inPath), { maxLength: 4 })
    .map((pairs) => (pairs.length > 0 ? `?${pairs.map((pair) => pair.join('=')).join('&')}`.slice(0, 4_000) : ''))

const standings: fc.Arbitrary<Standing> = fc.record({
  session: fc.constantFrom('none' as const, 'both' as const, 'both' as const, 'access' as const, 'refresh' as const),
  csrf: fc.constantFrom('none' as const, 'ours' as const, 'ours' as const, 'odd' as const),
})

/** A request to an operation that keeps to nothing but the syntax of HTTP. */
export const requestsTo = ({ method, path, schema, query }: Operation): fc.Arbitrary<FuzzRequest> =>
  fc
    .record({
      standing: standings,
      path: pathOf(path),
      query: queryOf(query),
      others: fc.dictionary(headerNames, headerText, { maxKeys: 3 }),
      site: siteHeaders,
      type: contentTypes,
      cookies: oddCookies,
      body: method === 'GET' ? fc.constant(undefined) : bodiesOf(schema),
    })
    .map(({ standing, path: filled, query: asked, others, site, type, cookies, body }) => ({
      ...standing,
      method,
      path: filled + asked,
      headers: { ...others, ...site, ...(body && { 'content-type': type }) },
      cookies,
      body,
    }))
