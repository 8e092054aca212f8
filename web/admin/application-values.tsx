import type { AdminApplication, AdminApplicationPatch } from '#contract/admin/admin-bodies.js'
import { Field } from '../components/field.js'
import type { Values } from '../components/form.js'
import { useWords } from '../hooks/settings.js'
import type { Words } from '../words/catalogue.js'
import { fill } from '../words/format.js'
import { IconField, iconAddress, iconIn } from './icon-field.js'
import { addressIn, LinesField, linesIn } from './lines-field.js'

type FieldName = keyof Words['configuration']['fields']
type Kind = NonNullable<AdminApplication['kind']>
type Input = 'text' | 'lines' | 'check'

/** How each value is typed, and of which kinds of application it is. Who may use it has a dialog of its own. */
type Row = { input: Input; kinds: readonly Kind[]; behindProxy?: true; read: (typed: string) => unknown }

const every: readonly Kind[] = ['web', 'browser', 'native']
const text = (typed: string) => typed.trim() || null
const address = (typed: string) => addressIn(typed) || null
const whether = (typed: string) => typed === 'on'

const rows = {
  name: { input: 'text', kinds: every, read: (typed) => typed.trim() },
  home: { input: 'text', kinds: every, read: address },
  redirect: { input: 'lines', kinds: every, read: linesIn },
  afterLogout: { input: 'lines', kinds: every, read: linesIn },
  backchannelLogout: { input: 'text', kinds: every, read: address },
  proxy: { input: 'text', kinds: ['web'], read: address },
  open: { input: 'lines', kinds: ['web'], behindProxy: true, read: linesIn },
  openPreflight: { input: 'check', kinds: ['web'], behindProxy: true, read: whether },
  noTokens: { input: 'check', kinds: ['web'], behindProxy: true, read: whether },
  maxAge: { input: 'text', kinds: every, read: text },
  factors: { input: 'check', kinds: every, read: (typed) => (whether(typed) ? 2 : 1) },
  consent: { input: 'check', kinds: ['web', 'browser'], read: (typed) => (whether(typed) ? 'ask' : 'none') },
  noPkce: { input: 'check', kinds: ['web'], read: whether },
  device: { input: 'check', kinds: ['native'], read: whether },
  algorithm: { input: 'check', kinds: every, read: (typed) => (whether(typed) ? 'ES256' : 'RS256') },
} as const satisfies Partial<Record<keyof AdminApplication, Row>>
type Name = keyof typeof rows
const names = Object.keys(rows) as Name[]

const labelOf: Record<Name, FieldName> = {
  name: 'name',
  home: 'home',
  redirect: 'redirect',
  afterLogout: 'afterLogout',
  backchannelLogout: 'backchannelLogout',
  proxy: 'proxy',
  open: 'open',
  openPreflight: 'openPreflight',
  noTokens: 'noTokens',
  maxAge: 'maxAge',
  factors: 'factors',
  consent: 'consent',
  noPkce: 'noPkce',
  device: 'device',
  algorithm: 'es256',
}

const isShown = (row: Row, { kind, proxy }: AdminApplication) =>
  row.kinds.includes(kind ?? 'web') && (row.behindProxy !== true || proxy !== null)

const isChecked = (value: unknown) => value === true || value === 2 || value === 'ask' || value === 'ES256'

/** A field for each value that an application of this kind can have. */
export const ApplicationFields = ({ application }: { application: AdminApplication }) => {
  const { fields, optional } = useWords('configuration')
  return (
    <>
      {names
        .filter((name) => isShown(rows[name], application))
        .map((name) => {
          const label = fields[labelOf[name]]
          const value = application[name]
          const { input } = rows[name]
          if (input === 'check')
            return (
              <label key={name} class="check">
                <input type="checkbox" name={name} defaultChecked={isChecked(value)} />
                {label}
              </label>
            )
          if (input === 'lines')
            return <LinesField key={name} name={name} label={label} defaultValue={Array.isArray(value) ? value : []} />
          return (
            <Field
              key={name}
              name={name}
              label={name === 'name' ? label : fill(optional, { label })}
              required={name === 'name'}
              autoComplete="off"
              maxLength={name === 'name' ? 60 : 2000}
              defaultValue={typeof value === 'string' ? value : ''}
            />
          )
        })}
      <IconField src={iconAddress(application)} />
    </>
  )
}

const isSame = (left: unknown, right: unknown) => JSON.stringify(left ?? null) === JSON.stringify(right ?? null)

/** What was typed and differs from what the application is. */
export const changedValues = (typed: Values, application: AdminApplication): AdminApplicationPatch => {
  const icon = iconIn(typed.icon)
  const changed = names
    .filter((name) => isShown(rows[name], application))
    .map((name) => [name, rows[name].read(typed[name] ?? '')] as const)
    .filter(([name, value]) => !isSame(value, application[name]))
  return { ...Object.fromEntries(changed), ...(icon !== undefined && { icon }) }
}

/** What may be another value by the time when a change is sent. */
export const comparedValues: readonly (keyof AdminApplication)[] = [...names, 'allow']

/** A value as text, such as one that somebody else has set. */
export const useValueText = () => {
  const { yes, no, none, app } = useWords('admin')
  return (value: unknown): string => {
    if (value === null || value === undefined || value === '') return none
    if (typeof value === 'boolean') return value ? yes : no
    if (value === 'everyone') return app.everyone
    if (Array.isArray(value)) return value.join(', ') || none
    return typeof value === 'object' ? Object.keys(value).join(', ') || none : String(value)
  }
}

/** The label of a value of an application, of a resource, of a setting, or its name if a newer service has others. */
export const useValueLabel = () => {
  const { fields, settings, resource } = useWords('configuration')
  return (name: string) => {
    if (name === 'allow') return fields.allow
    if (name === 'address') return resource.address
    if (name === 'scopes') return resource.scopes
    // The words of the form are a question for ES256.
    if (name === 'algorithm') return resource.algorithm
    if (Object.hasOwn(labelOf, name)) return fields[labelOf[name as Name]]
    return Object.hasOwn(settings, name) ? settings[name as keyof typeof settings] : name
  }
}
