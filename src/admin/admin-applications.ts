import type { ApplicationChanges } from '../applications/application-changes.js'
import type { ApplicationErrors } from '../applications/application-errors.js'
import type { ApplicationSecrets } from '../applications/application-secrets.js'
import type { Application, Applications } from '../applications/applications.js'

import type { AdminApplication } from '../contract/admin/admin-bodies.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import { applicationBody } from './admin-bodies.js'

type Dependencies = {
  applications: Pick<Applications, 'find' | 'list'>
  applicationChanges: Pick<ApplicationChanges, 'change'>
  applicationSecrets: Pick<ApplicationSecrets, 'list'>
  applicationErrors: Pick<ApplicationErrors, 'list'>
}

type Access = Pick<Application, 'access' | 'groups'>
type AccessPatch = { everyone?: boolean; groups?: readonly string[] }

/** A patch with `groups` but without `everyone` limits the access to these groups. */
const accessAfter = (before: Access, { everyone, groups }: AccessPatch): Access => {
  const isForEveryone = everyone ?? (groups === undefined && before.access === 'everyone')
  if (isForEveryone) return { access: 'everyone', groups: [] }
  return { access: 'groups', groups: [...new Set(groups ?? before.groups)].sort() }
}

/** Whether some users may lose their access. */
const takesAway = (before: Access, after: Access) =>
  after.access === 'groups' &&
  (before.access === 'everyone' || before.groups.some((group) => !after.groups.includes(group)))

export type AdminApplicationsFlow = ReturnType<typeof createAdminApplications>

/** Applications as administrators see them. Addresses and secrets change on the command line only. */
export const createAdminApplications = (deps: Dependencies) => {
  const { applications, applicationChanges, applicationSecrets, applicationErrors } = deps

  const describe = async (application: Application): Promise<AdminApplication> =>
    applicationBody(application, {
      secrets: await applicationSecrets.list(application.id),
      ...(await applicationErrors.list(application.id)),
    })

  return {
    list: async () => {
      const described: AdminApplication[] = []
      for (const application of await applications.list()) described.push(await describe(application))
      return described
    },

    /** Users who may not use the application any more lose their access at once. */
    change: async (id: string, patch: AccessPatch, client: Client) => {
      if (patch.everyone && patch.groups?.length)
        return refuse('bad_request', { message: 'Send everyone or groups, and not both' })
      const before = await applications.find(id)
      if (!before) return refuse('not_found')
      const after = accessAfter(before, patch)
      if (takesAway(before, after) && client.actor?.reason === undefined) return refuse('reason_required')
      const changed = await applicationChanges.change(id, after, client)
      if (!isRefused(changed)) return describe(changed.application)
      if (changed.refused === 'no_application') return refuse('not_found')
      if (changed.refused === 'no_group') return refuse('no_group')
      throw new Error(`An application could not be changed: ${changed.refused}`)
    },
  }
}
