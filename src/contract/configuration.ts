import { type Static, type TOptional, type TSchema, type TUnsafe, Type } from 'typebox'
import { groupPattern, maxGroups } from './groups.js'
import { OneOf } from './refusal-bodies.js'

/** An option of `application add` and `application change`. */
export type ConfigurationOption = {
  readonly name: string
  /** What stands for its value in the help. Without it the option is a switch. */
  readonly value?: string
  readonly several?: true
  readonly help: string
  /** Only this command has it. */
  readonly only?: 'add' | 'change'
}

/**
 * What can be set of a thing. From each row come the column's value, the options of the commands with their help, the JSON Schema, the
 * bodies of the administrators' API, the export and the line of the guide.
 */
type Property<Schema extends TSchema = TSchema> = {
  readonly schema: Schema
  /** Completes “… must be …”. */
  readonly must: string
  /** For the guide and for editors. */
  readonly about: string
  readonly options: readonly ConfigurationOption[]
}

const property = <Schema extends TSchema, const Options extends readonly ConfigurationOption[]>(
  schema: Schema,
  must: string,
  about: string,
  ...options: Options
) => ({ schema, must, about, options })

const Text = Type.String({ minLength: 1, maxLength: 2_000 })
const Texts = Type.Array(Text, { maxItems: 100 })
const aText = 'a text'
const trueOrFalse = 'true or false'
const addresses = 'a list of addresses, such as [https://wiki.example.com/callback]'

const everyone = 'everyone'
const Allow = Type.Union([
  Type.Literal(everyone),
  Type.Array(Type.String({ pattern: groupPattern }), { maxItems: maxGroups, uniqueItems: true }),
])

/** Where a secret stands. The secret itself is in no configuration file. */
const SecretSource = Type.Union([
  Type.Object({ file: Text }, { additionalProperties: false }),
  Type.Object({ env: Text }, { additionalProperties: false }),
])
export type SecretSource = Static<typeof SecretSource>

/** An id of an application that was chosen beforehand. */
export const applicationIdPattern = '^[a-z0-9][a-z0-9_-]{0,62}$'

/** The programs whose addresses and options are known. */
export const knownPrograms = ['grafana', 'gitea', 'nextcloud'] as const
export type KnownProgram = (typeof knownPrograms)[number]

/** A pattern of the whole numbers from 1 to `most`: JSON Schema has no other bound for a number with a unit. */
const oneTo = (most: number) => {
  const digits = String(most)
  const smaller = [...digits].flatMap((digit, at) => {
    const [least, greatest] = [at === 0 ? 1 : 0, Number(digit) - 1]
    const rest = digits.length - at - 1
    return greatest < least ? [] : [`${digits.slice(0, at)}[${least}-${greatest}]${'\\d'.repeat(rest)}`]
  })
  const shorter = digits.length === 1 ? [] : [`[1-9]\\d{0,${digits.length - 2}}`]
  return `(?:${[...shorter, ...smaller, digits].join('|')})`
}

const longestAgeInDays = 365
const ageUnits = { d: 1, h: 24, m: 24 * 60, s: 24 * 60 * 60 }
/** From one second to 365 days. */
export const agePattern = `^(?:${Object.entries(ageUnits)
  .map(([unit, inDay]) => `${oneTo(longestAgeInDays * inDay)}${unit}`)
  .join('|')})$`

/** The hash of a secret is fast, so a weak secret could be guessed. */
export const secretPattern = '^[A-Za-z0-9_-]{32,128}$'

// biome-ignore format: one property a paragraph, so that the table can be read as a table
/** What can be set of an application. The keys are those of the file and of the API. */
export const applicationProperties = {
  id: property(Type.String({ pattern: applicationIdPattern }), '1 to 63 small letters, digits, hyphens and underscores, with a letter or a digit first',
    'The `client_id`, for an application that is new; else one is made. It cannot change.',
    { name: 'id', value: 'ID', only: 'add', help: 'the client_id, so that it can be written into the other program beforehand; else one is made' }),
  for: property(OneOf(knownPrograms), knownPrograms.join(', '),
    'A known program: fills the addresses below `home` that are not said, and is not kept.',
    { name: 'for', value: 'PROGRAM', only: 'add', help: 'grafana, gitea (also Forgejo) or nextcloud: Latchkey knows its settings, and its addresses below --home. With --proxy: caddy, nginx, traefik or haproxy prints the lines for the proxy in front of the site' }),
  kind: property(OneOf(['web', 'browser', 'native']), 'web, browser or native',
    '`web` keeps a secret on its server (the default), `browser` is a page without a server, `native` a program on the user\'s machine. It cannot change.',
    { name: 'public', only: 'add', help: 'a page in the browser that has no server to keep a secret' },
    { name: 'native', only: 'add', help: "a program on the user's machine, which always asks the user. --redirect is http://127.0.0.1/callback or http://[::1]/callback (any port; http://localhost/callback too, but RFC 8252 prefers the other two), com.example.app:/callback, or an https address that the telephone gives to the program only (a claimed link)" }),
  redirect: property(Texts, addresses,
    'To which users come back after they have signed in here. Compared byte for byte, without wildcards.',
    { name: 'redirect', value: 'URL', several: true, help: 'to which users come back after they have signed in here. Several are possible. It is compared byte for byte, without wildcards. https only; outside production also http to this machine' }),
  allow: property(Allow, '`everyone`, or a list of groups such as [family], each once',
    'Who may use it: `everyone`, or a list of groups. It must be there.',
    { name: 'everyone', help: 'every user may use the application' },
    { name: 'group', value: 'GROUP', several: true, help: 'only members of this group, or of one of several (--group a --group b)' }),
  home: property(Text, aText,
    'The page where users open it, and to which our pages lead them back; else the origin of the first `redirect`, or the site of `proxy`.',
    { name: 'home', value: 'URL', help: 'to which pages lead users back, also after an expired sign-in; else the origin of the first --redirect' }),
  afterLogout: property(Texts, addresses,
    'To which the application may lead users back when it signs them out here.',
    { name: 'after-logout', value: 'URL', several: true, help: 'to which the application may lead back when it signs a user out here. Several are possible (none: nowhere)' }),
  backchannelLogout: property(Text, aText,
    'Gets a logout notice for every session that ends. An address in a private network gets none without `BACKCHANNEL_ALLOW_PRIVATE=true`.',
    { name: 'backchannel-logout', value: 'URL', help: 'gets a logout notice for every session that ends, however it ends. An address in a private network gets none without BACKCHANNEL_ALLOW_PRIVATE=true (none: no notices)' }),
  consent: property(OneOf(['none', 'ask']), 'none or ask',
    '`ask`: each user is asked once before it gets name, email and groups. `native` always asks.',
    { name: 'consent', value: 'ask', help: 'asks each user once before the application gets name, email and groups (none: does not ask)' }),
  factors: property(Type.Unsafe<1 | 2>({ type: 'integer', minimum: 1, maximum: 2 }), '1 or 2',
    '`2` lets users in only with two factors.',
    { name: 'factors', value: '2', help: 'lets users in only with two factors (1: with any sign-in)' }),
  maxAge: property(Type.String({ pattern: agePattern }), 'a time such as 10m or 8h, from 1s to 365d',
    'Lets users in only if they have signed in, or proven again who they are, within this time.',
    { name: 'max-age', value: '10m', help: 'lets users in only if, within this time, they have signed in (by whatever way) or have proven again who they are (none: at any time). A sign-in by mail counts too, although it lets no user make a sensitive change' }),
  proxy: property(Text, aText,
    'The site of an application behind a proxy that asks Latchkey: scheme, host and port.',
    { name: 'proxy', value: 'URL', help: 'the site of an application behind a proxy that asks Latchkey: scheme, host and port (https://wiki.example.com). Outside production http is possible (none: no such site any more)' }),
  open: property(Texts, 'a list of paths, such as [/manifest.json, /public/]',
    'What anybody may see there: paths, or all that begins with one that ends in a slash; with a method before it unless it is GET (`POST:/hooks/`).',
    { name: 'open', value: 'PATH', several: true, help: 'anybody may GET this path there, or all that begins with it if it ends in a slash: --open /manifest.json --open /public/ --open POST:/hooks/. Nobody is named there (none: no path is open)' }),
  openPreflight: property(Type.Boolean(), trueOrFalse,
    'Lets the preflights of other sites pass (CORS), on every path.',
    { name: 'open-preflight', help: 'lets the preflights of other sites pass (CORS), on every path (--no-open-preflight: not any more)' },
    { name: 'no-open-preflight', help: '' }),
  icon: property(Text, 'the path of a PNG, or `none`',
    'The picture on the account pages of users who may open it: a PNG of at most 32 KB and 512 pixels, relative to the file. Left out, it stays as it is; `none` removes it.',
    { name: 'icon', value: 'FILE', help: 'the picture on the account pages of users who may open it: a PNG of at most 32 KB and 512 pixels (none: its first letter)' }),
  noPkce: property(Type.Boolean(), trueOrFalse,
    'For programs that send no PKCE challenge, as some older ones with a secret do.',
    { name: 'no-pkce', help: 'for programs that send no PKCE challenge, as some older ones with a secret do' },
    { name: 'pkce', only: 'change', help: 'requires a PKCE challenge again' }),
  algorithm: property(OneOf(['RS256', 'ES256']), 'RS256 or ES256',
    'What signs its ID tokens.',
    { name: 'algorithm', value: 'ES256', help: 'signs ID tokens with ES256 instead of RS256' }),
  device: property(Type.Boolean(), trueOrFalse,
    'For `native`: devices without a browser may sign in with a code (RFC 8628).',
    { name: 'device', help: 'for a native program: devices without a browser may sign in with a code (RFC 8628; --no-device: they may not, which is the default)' },
    { name: 'no-device', help: '' }),
  noDevice: property(Type.Unsafe<true>({ type: 'boolean', enum: [true] }), 'true, or not there',
    'The same as `device: false`. Not together with `device`.'),
  noTokens: property(Type.Boolean(), trueOrFalse,
    'Behind a proxy: programs cannot enter with personal tokens of users.',
    { name: 'no-tokens', help: 'behind a proxy: programs cannot enter with personal tokens of users (--tokens: they can, the default)' },
    { name: 'tokens', help: '' }),
  secret: property(Type.Union([SecretSource, Type.Array(SecretSource, { minItems: 1, maxItems: 2 })]), 'a file or a variable, such as { file: /run/secrets/wiki } or { env: WIKI_SECRET }, or a list of two of them',
    'Where its secret stands, or a list of two while one is being replaced: 32 to 128 letters, digits, hyphens and underscores. Left out, the secrets stay as they are.'),
} as const satisfies Record<string, Property>

export type PropertyName = keyof typeof applicationProperties
type OptionsOf<Name extends PropertyName> = (typeof applicationProperties)[Name]['options'][number]
export type OptionName = { [Name in PropertyName]: OptionsOf<Name>['name'] }[PropertyName]

/** The properties that are no values of an application, each with the reason: exports and answers do not have them. */
const applicationExtras = {
  for: 'fills others, and is not kept',
  icon: 'a picture, which is stored by itself',
  noDevice: 'says what `device` says',
  secret: 'only hashes are kept',
} as const satisfies Partial<Record<PropertyName, string>>
/** The properties that cannot change, each with the reason. */
const fixedProperties = {
  id: 'other programs know it',
  kind: 'decides which addresses are allowed, and whether there is a secret',
} as const satisfies Partial<Record<PropertyName, string>>

export type ValueName = Exclude<PropertyName, keyof typeof applicationExtras>
export type ChangeableName = Exclude<ValueName, keyof typeof fixedProperties>

type ValueOf<Name extends PropertyName> = Static<(typeof applicationProperties)[Name]['schema']>
const namesWithout = (...left: readonly object[]) =>
  (Object.keys(applicationProperties) as PropertyName[]).filter(
    (name) => !left.some((each) => Object.hasOwn(each, name)),
  )
const nullable = ({ schema, about }: Property) => Type.Unsafe({ anyOf: [schema, { type: 'null' }], description: about })
const described = ({ schema, about }: Property) => ({ ...schema, description: about })

/** Every value, as answers have them. */
export const shownProperties = Object.fromEntries(
  namesWithout(applicationExtras).map((name) => [name, nullable(applicationProperties[name])]),
) as unknown as { [Name in ValueName]: TUnsafe<ValueOf<Name> | null> }

/** What a request can change. Null: back to the default. */
export const changedProperties = Object.fromEntries(
  namesWithout(applicationExtras, fixedProperties).map((name) => [
    name,
    Type.Optional(nullable(applicationProperties[name])),
  ]),
) as unknown as { [Name in ChangeableName]: TOptional<TUnsafe<ValueOf<Name> | null>> }

const { for: _, ...notInRequests } = applicationExtras
/** What a request says of a new one. */
export const newProperties = Object.fromEntries(
  namesWithout(notInRequests).map((name) => {
    const schema = described(applicationProperties[name])
    return [name, name === 'allow' ? schema : Type.Optional(schema)]
  }),
) as unknown as {
  [Name in Exclude<PropertyName, 'allow' | keyof typeof notInRequests>]: TOptional<TUnsafe<ValueOf<Name>>>
} & { allow: TUnsafe<ValueOf<'allow'>> }

/** An application as a file describes it. `allow` must be there. */
export type ApplicationShape = {
  [Name in PropertyName]?: Static<(typeof applicationProperties)[Name]['schema']>
} & { allow: 'everyone' | readonly string[] }

// biome-ignore format: one property a paragraph, as above
/** What can be set of a resource, for which programs get tokens. */
const resourceProperties = {
  address: property(Text, 'an address such as https://mcp.example.com/mcp',
    'Where programs reach it. It is the audience of its tokens, and cannot change.'),
  scopes: property(Type.Unsafe<Readonly<Record<string, string | null>>>({
    type: 'object', maxProperties: 20,
    propertyNames: { pattern: '^[A-Za-z0-9._:/-]{1,64}$', must: '1 to 64 letters, digits and . _ : / -' },
    additionalProperties: { anyOf: [{ type: 'string', minLength: 1, maxLength: 120 }, { type: 'null' }], must: 'what the user reads, of at most 120 characters, or nothing' },
  }), 'an object such as { read: Read pages }',
    'What a program can ask for, each with what the user reads; `profile`, `email` and `groups` put these claims into the token.'),
  allow: property(Allow, '`everyone`, or a list of groups such as [family]',
    'Who may use it: `everyone`, or a list of groups. It must be there.'),
  algorithm: property(OneOf(['RS256', 'ES256']), 'RS256 or ES256',
    'What signs its tokens; else ES256.'),
} as const satisfies Record<string, Property>

/** A resource as a file describes it. */
export type ResourceShape = {
  [Name in keyof typeof resourceProperties]?: Static<(typeof resourceProperties)[Name]['schema']>
} & { address: string; allow: 'everyone' | readonly string[] }

type ResourceProperties = typeof resourceProperties
type ResourceValue<Name extends keyof ResourceProperties> = Static<ResourceProperties[Name]['schema']>
const { address, allow, algorithm } = resourceProperties
/** Any names: one that is wrong is refused by the rules of resources, where a narrower schema would let requests lose it. */
const scopes = {
  ...resourceProperties.scopes,
  schema: Type.Record(
    Type.String(),
    Type.Unsafe<string | null>({ anyOf: [{ type: 'string', maxLength: 1_000 }, { type: 'null' }] }),
    { maxProperties: 100 },
  ),
}

/** Every value of a resource, as answers have it. */
export const shownResourceProperties = {
  address: described(address),
  scopes: described(scopes),
  allow: described(allow),
  algorithm: described(algorithm),
} as unknown as { [Name in keyof ResourceProperties]: TUnsafe<ResourceValue<Name>> }

/** What a request can change. Null: back to the default. The address is in tokens and in the settings of programs. */
export const changedResourceProperties = {
  scopes: Type.Optional(nullable(scopes)),
  allow: Type.Optional(nullable(allow)),
  algorithm: Type.Optional(nullable(algorithm)),
} as unknown as {
  [Name in Exclude<keyof ResourceProperties, 'address'>]: TOptional<TUnsafe<ResourceValue<Name> | null>>
}

/** What a request says of a new one. */
export const newResourceProperties = {
  address: described(address),
  allow: described(allow),
  scopes: Type.Optional(described(scopes)),
  algorithm: Type.Optional(described(algorithm)),
} as unknown as {
  [Name in 'address' | 'allow']: TUnsafe<ResourceValue<Name>>
} & { [Name in 'scopes' | 'algorithm']: TOptional<TUnsafe<ResourceValue<Name>>> }

// biome-ignore format: one property a paragraph, as above
/** The settings that can change while the service runs. `variable`: it counts more than the file and the page. */
export const settingProperties = {
  registration: { ...property(OneOf(['open', 'invited', 'closed']), 'open, invited or closed',
    'Who can create an account: anyone, only who is invited, or nobody by themselves.'), variable: 'REGISTRATION' },
  registrationDomains: { ...property(Type.Array(Type.String({ minLength: 1, maxLength: 253 }), { maxItems: 100 }), 'a list of domains such as [example.com]',
    'Only addresses of exactly these domains can register; an empty list: of all.'), variable: 'REGISTRATION_DOMAINS' },
  mailSignIn: { ...property(OneOf(['on', 'off']), 'on or off',
    'Whether users can sign in with a code or a link that is mailed to them.'), variable: 'MAIL_SIGN_IN' },
  secondFactor: { ...property(OneOf(['optional', 'required']), 'optional or required',
    '`required`: an account without a second factor has to add one at its next sign-in.'), variable: 'SECOND_FACTOR' },
} as const satisfies Record<string, Property & { variable: string }>

export type LiveSettingName = keyof typeof settingProperties
export const liveSettingNames = Object.keys(settingProperties) as LiveSettingName[]

/** The values of the settings that can change while the service runs. */
export type LiveSettings = {
  [Name in LiveSettingName]: Static<(typeof settingProperties)[Name]['schema']>
}

export const isLiveSetting = (name: string): name is LiveSettingName => Object.hasOwn(settingProperties, name)

/** A schema with properties: which of them there must be, and what each is. */
const objectOf = (properties: Readonly<Record<string, Property>>, required: readonly string[] = []) =>
  Type.Unsafe<unknown>({
    type: 'object',
    additionalProperties: false,
    required: [...required],
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, { schema, about, must }]) => [
        name,
        { ...schema, description: about, must },
      ]),
    ),
  })

/** Things by their names. */
const mapOf = (entry: TSchema, names: { pattern: string; must: string }) =>
  Type.Unsafe<unknown>({
    type: 'object',
    propertyNames: { pattern: names.pattern, must: names.must },
    additionalProperties: entry,
  })

type Kind = {
  /** What one of them is called. */
  readonly one: string
  readonly about: string
  readonly properties: Readonly<Record<string, Property>>
  readonly schema: TSchema
}

/** What a file can have. A kind that is added here is read, published and listed in the guide; `configuration/kinds` says what it does. */
export const configurationKinds = {
  groups: {
    one: 'group',
    about: 'Groups, by their names. Who is in a group is not in the file.',
    properties: {},
    schema: mapOf(objectOf({}), {
      pattern: groupPattern,
      must: '1 to 32 small letters, digits, dots, underscores and hyphens, with a letter or a digit first',
    }),
  },
  applications: {
    one: 'application',
    about: 'Applications, by the names that users see.',
    properties: applicationProperties,
    schema: mapOf(objectOf(applicationProperties, ['allow']), {
      pattern: '^.{1,60}$',
      must: 'a name of 1 to 60 characters',
    }),
  },
  resources: {
    one: 'resource',
    about: 'APIs and MCP servers for which programs get tokens, by the names that users see.',
    properties: resourceProperties,
    schema: mapOf(objectOf(resourceProperties, ['address', 'allow']), {
      pattern: '^.{1,60}$',
      must: 'a name of 1 to 60 characters',
    }),
  },
  settings: {
    one: 'setting',
    about: 'The settings that can change while the service runs. One whose variable is set cannot stand in a file.',
    properties: settingProperties,
    schema: objectOf(settingProperties),
  },
} as const satisfies Record<string, Kind>

export type KindName = keyof typeof configurationKinds
export const kindNames = Object.keys(configurationKinds) as KindName[]

/** The schema of a file, for its reader and for editors. */
export const configurationSchema = () => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Latchkey: groups, applications, resources and settings',
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string', description: 'For editors', must: 'a text' },
    ...Object.fromEntries(
      Object.entries(configurationKinds).map(([name, { schema, about }]) => [name, { ...schema, description: about }]),
    ),
  },
})

/** One thing that a file changes. `before` and `after` are as the file writes them, without secrets. */
export type ConfigurationChange = {
  kind: (typeof configurationKinds)[KindName]['one']
  name: string
  action: 'add' | 'change' | 'remove' | 'release'
  before?: object
  after?: object
  /** If the owner changes: the file that owned it until now, or null if pages and commands could change it. */
  takenFrom?: string | null
  /** How many secrets become valid, and how many stop to be. */
  secrets?: { added: number; removed: number }
  /** Whether the file names its secrets from now on, so that pages and commands cannot change them. */
  ownsSecrets?: boolean
  icon?: 'set' | 'removed'
}

/** Who has set something: a variable of the environment, a file, somebody on the page or with a command, or nobody. */
export type SetBy =
  | 'environment'
  | 'default'
  | { readonly file: string }
  | { readonly page: string; readonly at: string }

/**
 * What an event of such a change keeps, so that it can be changed back. `id`: of an application or a resource. `secret`: the id of one
 * that was added.
 */
export type EventDetails = {
  kind: ConfigurationChange['kind']
  name: string
  id?: string
  before?: object
  after?: object
  secret?: string
}
