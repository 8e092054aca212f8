import type { ApplicationShape, ChangeableName, ValueName } from '../contract/configuration.js'
import { readDuration, seconds, writeDuration } from '../lib/durations.js'
import {
  type Application,
  type ApplicationChange,
  type ApplicationKind,
  defaultHome,
  type NewApplication,
  siteOf,
} from './application-rules.js'
import { programs } from './program-settings.js'

/** Every value of an application, defaults too. */
export type FullShape = { [Name in ValueName]: NonNullable<ApplicationShape[Name]> | null }

/** Null: back to the default. */
export type ApplicationPatch = { [Name in ChangeableName]?: ApplicationShape[Name] | null | undefined } & {
  name?: string | undefined
}

type Reader<Name extends ChangeableName> = (value: NonNullable<ApplicationShape[Name]> | null) => ApplicationChange

const accessFrom = (allow: ApplicationShape['allow'] | null): Pick<Application, 'access' | 'groups'> =>
  allow === 'everyone'
    ? { access: 'everyone', groups: [] }
    : { access: 'groups', groups: [...new Set(allow ?? [])].sort() }

/** What each property says about the fields of an application. One that is added does not compile until it is here. */
const readers: { readonly [Name in ChangeableName]: Reader<Name> } = {
  redirect: (addresses) => ({ redirectAddresses: [...new Set(addresses)] }),
  allow: accessFrom,
  home: (home) => ({ home }),
  afterLogout: (addresses) => ({ logoutAddresses: [...new Set(addresses)] }),
  backchannelLogout: (address) => ({ backchannelLogout: address ?? undefined }),
  consent: (consent) => ({ consent: consent ?? 'none' }),
  factors: (factors) => ({ factors: factors ?? 1 }),
  maxAge: (age) => ({ maxAge: age === null ? undefined : readDuration(age) }),
  proxy: (site) => ({ proxyOrigin: site === null ? undefined : siteOf(site) }),
  open: (paths) => ({ openPaths: [...new Set(paths)] }),
  openPreflight: (passes) => ({ openPreflight: passes ?? false }),
  noPkce: (isOff) => ({ pkce: !isOff }),
  algorithm: (algorithm) => ({ algorithm: algorithm ?? 'RS256' }),
  device: (isOn) => ({ deviceFlow: isOn ?? false }),
  noTokens: (isOff) => ({ tokens: !isOff }),
}

export const changeFrom = ({ name, ...patch }: ApplicationPatch): ApplicationChange => {
  const given = Object.entries(patch).filter(([key, value]) => value !== undefined && Object.hasOwn(readers, key))
  const changes = given.map(([key, value]) => (readers[key as ChangeableName] as (value: unknown) => object)(value))
  return Object.assign({}, ...changes, name === undefined ? {} : { name }) as ApplicationChange
}

/** The addresses and options of a known program, for what is not said. */
const withProgram = ({ for: program, ...shape }: ApplicationShape): ApplicationShape => {
  if (program === undefined) return shape
  const [redirect] = shape.redirect ?? []
  const home = (shape.home ?? (redirect === undefined ? '' : defaultHome([redirect]))).replace(/\/+$/, '')
  const { redirectPath, backchannelPath, logoutPath, noPkce } = programs[program]
  return {
    home,
    redirect: [home + redirectPath],
    ...(logoutPath !== undefined && { afterLogout: [home + logoutPath] }),
    ...(backchannelPath !== undefined && { backchannelLogout: home + backchannelPath }),
    ...(noPkce && { noPkce }),
    ...shape,
    ...(shape.home !== undefined && { home }),
  }
}

/** Why a shape cannot become an application whatever its values are. */
export const shapeFault = ({ for: program, kind = 'web', home, redirect = [] }: ApplicationShape) => {
  if (program === undefined) return undefined
  if (kind !== 'web') return `${program} keeps a secret, so it is of the kind web`
  if (home !== undefined || redirect.length > 0) return undefined
  return `${program} needs the address at which users open it: home: https://${program}.example.com`
}

export const newApplicationFrom = (name: string, given: ApplicationShape): NewApplication => {
  const { kind = 'web' } = given
  const fields: Omit<NewApplication, 'home'> = {
    redirectAddresses: [],
    logoutAddresses: [],
    backchannelLogout: undefined,
    access: 'groups',
    groups: [],
    factors: 1,
    maxAge: undefined,
    consent: kind === 'native' ? 'ask' : 'none',
    pkce: true,
    algorithm: 'RS256',
    deviceFlow: false,
    proxyOrigin: undefined,
    openPaths: [],
    openPreflight: false,
    tokens: true,
    name,
    kind,
  }
  const { home, ...changes } = changeFrom(withProgram(given))
  const application = { ...fields, ...changes, name }
  return { ...application, home: home ?? defaultHome(application.redirectAddresses, application.proxyOrigin) }
}

/** An application in the words of the file, with every value. */
export const fullShapeOf = (application: Application): FullShape => ({
  id: application.id,
  // No file and no form describes a program that says itself what it is.
  kind: application.kind === 'document' ? 'native' : application.kind,
  redirect: [...application.redirectAddresses],
  allow: application.access === 'everyone' ? 'everyone' : [...application.groups],
  home: application.home,
  afterLogout: [...application.logoutAddresses],
  backchannelLogout: application.backchannelLogout ?? null,
  consent: application.consent,
  factors: application.factors,
  maxAge: application.maxAge === undefined ? null : writeDuration(Math.floor(application.maxAge / seconds) * seconds),
  proxy: application.proxyOrigin ?? null,
  open: [...application.openPaths],
  openPreflight: application.openPreflight,
  noPkce: !application.pkce,
  algorithm: application.algorithm,
  device: application.deviceFlow,
  noTokens: !application.tokens,
})

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** The application as a file would write it: without what is the default anyway. */
export const shapeOf = (application: Application): ApplicationShape => {
  const full = fullShapeOf(application)
  const { id, kind, redirect, allow, proxy } = full
  const shape = { kind: kind as ApplicationKind, redirect, allow, proxy } as ApplicationShape
  const usual = fullShapeOf({
    ...newApplicationFrom(application.name, shape),
    id: application.id,
    createdAt: application.createdAt,
    setByFile: undefined,
    secretsByFile: false,
    document: undefined,
  })
  const kept = Object.entries(full).filter(([name, value]) => !isSame(value, usual[name as ValueName]))
  return {
    id: id ?? application.id,
    ...(kind !== 'web' && { kind }),
    ...(redirect && redirect.length > 0 && { redirect }),
    ...(proxy !== null && { proxy }),
    allow: allow ?? [],
    ...Object.fromEntries(kept),
  } as ApplicationShape
}

/** What differs between two applications, in the words of the file. */
export const differences = (before: Application, after: Application) => {
  const [old, current] = [fullShapeOf(before), fullShapeOf(after)]
  const names = (Object.keys(old) as ValueName[]).filter((name) => !isSame(old[name], current[name]))
  const pick = (shape: FullShape, { name }: Application) => ({
    ...(before.name !== after.name && { name }),
    ...Object.fromEntries(names.map((each) => [each, shape[each]])),
  })
  return { before: pick(old, before), after: pick(current, after) }
}
