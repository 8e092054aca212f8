import { seconds } from '../lib/durations.js'
import type { Application } from './application-rules.js'

/** The column of each field. All statements are made of these, so that no field of an application is missing in one of them. */
export const columns = {
  id: 'id',
  document: 'document',
  name: 'name',
  home: 'home',
  kind: 'kind',
  redirectAddresses: 'redirect_addresses',
  logoutAddresses: 'logout_addresses',
  backchannelLogout: 'backchannel_logout',
  access: 'access',
  groups: 'groups',
  factors: 'factors',
  maxAge: 'max_age',
  consent: 'consent',
  pkce: 'pkce',
  algorithm: 'algorithm',
  deviceFlow: 'device_flow',
  proxyOrigin: 'proxy_origin',
  openPaths: 'open_paths',
  openPreflight: 'open_preflight',
  tokens: 'tokens',
  createdAt: 'created_at',
  setByFile: 'set_by_file',
  secretsByFile: 'secrets_by_file',
} as const satisfies Record<keyof Application, string>
export type Field = keyof Application
export const fields = Object.keys(columns) as Field[]

/** What the columns have. A field that may be undefined does not compile below until its column is read and written as null. */
export type Row = {
  [Each in Field]: undefined extends Application[Each]
    ? Exclude<Application[Each], undefined> | null
    : Application[Each]
}

export const applicationFrom = ({
  document,
  backchannelLogout,
  maxAge,
  deviceFlow,
  proxyOrigin,
  setByFile,
  ...same
}: Row): Application => ({
  ...same,
  document: document ?? undefined,
  backchannelLogout: backchannelLogout ?? undefined,
  proxyOrigin: proxyOrigin ?? undefined,
  setByFile: setByFile ?? undefined,
  // The column is in seconds.
  maxAge: maxAge === null ? undefined : maxAge * seconds,
  // The column is true in rows of other kinds that were made before the flow had to be asked for.
  deviceFlow: same.kind === 'native' && deviceFlow,
})

export const rowFrom = ({
  document,
  backchannelLogout,
  maxAge,
  proxyOrigin,
  setByFile,
  ...same
}: Application): Row => ({
  ...same,
  document: document ?? null,
  backchannelLogout: backchannelLogout ?? null,
  proxyOrigin: proxyOrigin ?? null,
  setByFile: setByFile ?? null,
  maxAge: maxAge === undefined ? null : Math.floor(maxAge / seconds),
})

/** The names of the columns in which the two differ. */
export const changedColumns = (before: Application, after: Application) => {
  const [old, current] = [rowFrom(before), rowFrom(after)]
  return fields
    .filter((field) => JSON.stringify(old[field]) !== JSON.stringify(current[field]))
    .map((field) => columns[field])
}
