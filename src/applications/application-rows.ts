import { seconds } from '../lib/durations.js'
import type { Application } from './application.js'
import type { ApplicationRow } from './applications.store.js'

export const applicationFrom = (row: ApplicationRow): Application => ({
  id: row.id,
  name: row.name,
  home: row.home,
  kind: row.kind,
  redirectAddresses: row.redirect_addresses,
  logoutAddresses: row.logout_addresses,
  backchannelLogout: row.backchannel_logout ?? undefined,
  access: row.access,
  groups: row.groups,
  factors: row.factors,
  maxAge: row.max_age === null ? undefined : row.max_age * seconds,
  consent: row.consent,
  pkce: row.pkce,
  algorithm: row.algorithm,
  // The column is true in rows of other kinds that were made before the flow had to be asked for.
  deviceFlow: row.kind === 'native' && row.device_flow,
  createdAt: row.created_at,
})

export const rowFrom = (application: Application): ApplicationRow => ({
  id: application.id,
  name: application.name,
  home: application.home,
  kind: application.kind,
  redirect_addresses: [...application.redirectAddresses],
  logout_addresses: [...application.logoutAddresses],
  backchannel_logout: application.backchannelLogout ?? null,
  access: application.access,
  groups: [...application.groups],
  factors: application.factors,
  max_age: application.maxAge === undefined ? null : Math.floor(application.maxAge / seconds),
  consent: application.consent,
  pkce: application.pkce,
  algorithm: application.algorithm,
  device_flow: application.deviceFlow,
  created_at: application.createdAt,
})
