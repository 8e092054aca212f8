import { createApplicationChanges } from '../../src/applications/application-changes.js'
import type { NewApplication } from '../../src/applications/application-rules.js'
import { createApplicationSecrets } from '../../src/applications/applications.js'

import type { Latchkey } from './latchkey.js'

/** Changes of applications by operators, in the process of the service. */
export const applicationChangesOf = ({ app, clock, config, sql: database }: Latchkey) => {
  const applicationSecrets = createApplicationSecrets({ database, clock })
  const { events, configurationTrail, groups, usedApplications } = app.rooms
  const { production, publicUrl, cookieDomain } = config
  const place = { production, publicUrl, cookieDomain }
  const parts = { database, clock, events, configurationTrail, groups, applicationSecrets, usedApplications, ...place }
  return createApplicationChanges(parts)
}

/**
 * A new application for everyone, of the kind `web` and with a secret if nothing else is said. With ES256, because the service
 * looks for primes for its first one with RS256.
 */
export const addApplication = async (latchkey: Latchkey, given: Partial<NewApplication> = {}) => {
  const application: NewApplication = {
    name: 'Notes',
    home: 'https://notes.example.com',
    kind: 'web',
    redirectAddresses: ['https://notes.example.com/callback'],
    logoutAddresses: [],
    backchannelLogout: undefined,
    access: 'everyone',
    groups: [],
    factors: 1,
    maxAge: undefined,
    consent: given.kind === 'native' ? 'ask' : 'none',
    pkce: true,
    algorithm: 'ES256',
    deviceFlow: false,
    proxyOrigin: undefined,
    openPaths: [],
    openPreflight: false,
    tokens: true,
    ...given,
  }
  const added = await applicationChangesOf(latchkey).add(application, { ip: 'command line', userAgent: 'test' })
  if ('refused' in added) throw new Error(`The application ${application.name} was refused: ${added.refused}`)
  return { ...added.application, secret: added.secret ?? '' }
}
