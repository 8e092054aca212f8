import type { Config } from '../config.js'
import { createAdminSessions } from '../domain/administrators/admin-sessions.js'
import { createAttention } from '../domain/stats/attention.js'
import { createDailyCounts } from '../domain/stats/daily-counts.js'
import { createUserSearch } from '../domain/users/user-search.js'
import { adminAccessRoutes } from '../flows/admin/admin-access.routes.js'
import { createAdminApplications } from '../flows/admin/admin-applications.js'
import { adminReportsRoutes } from '../flows/admin/admin-reports.routes.js'
import { createActivity, createUserActions, createUserDetails } from '../flows/admin/admin-users.js'
import { adminUsersRoutes } from '../flows/admin/admin-users.routes.js'
import { createReadingTrail } from '../flows/admin/reading-trail.js'
import { createFindWithoutAccount } from '../flows/admin/without-account.js'
import { createAdminGuard } from '../http/admin-guard.js'
import type { Server } from '../http/server.js'
import type { HttpParts, Platform } from './http-parts.js'
import type { Nouns } from './nouns.js'
import { createOperatorNouns } from './operator-nouns.js'
import { freeSpaceOf } from './own-database.js'

type Dependencies = Platform & Nouns & HttpParts

/** The API of administrators. This file is not loaded if ADMIN_GROUP is empty. */
export const registerAdminFlows = (server: Server, config: Config, dependencies: Dependencies) => {
  const { clockWatch } = dependencies
  const { publicUrl, freshFor } = config
  const parts = {
    ...createOperatorNouns(config, dependencies),
    ...dependencies,
  }
  const settings = { publicUrl, freshFor }
  const adminGuard = createAdminGuard({ ...parts, adminSessions: createAdminSessions(parts), settings })
  const userSearch = createUserSearch(parts)
  const readingTrail = createReadingTrail({ ...parts, adminGuard })
  adminUsersRoutes(server, {
    ...parts,
    adminGuard,
    userSearch,
    userDetails: createUserDetails({ ...parts, userSearch, activity: createActivity(parts) }),
    userActions: createUserActions(parts),
    findWithoutAccount: createFindWithoutAccount(parts),
    readingTrail,
  })
  adminAccessRoutes(server, { ...parts, adminGuard, adminApplications: createAdminApplications(parts) })
  adminReportsRoutes(server, {
    ...parts,
    adminGuard,
    readingTrail,
    attention: createAttention({ ...parts, clockOffsetSeconds: clockWatch.offset, freeSpace: freeSpaceOf(config) }),
    dailyCounts: createDailyCounts(parts),
  })
}
