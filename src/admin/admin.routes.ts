import type { Server } from '../http/server.js'
import type { Rooms } from '../service/open-rooms.js'
import { freeSpaceOf } from '../service/own-database.js'
import type { HttpParts, Platform } from '../service/register-routes.js'
import type { Config } from '../settings/config.js'
import { createUserSearch } from '../users/search.js'
import { adminAccessRoutes, createAdminApplications } from './access.routes.js'
import { createAdminGuard, createAdminSessions, createReadingTrail } from './admin-guard.js'
import { createAttention } from './attention.js'
import { createOperatorNouns } from './open-admin.js'
import { adminReportsRoutes } from './reports.routes.js'
import { createDailyCounts } from './stats.js'
import { createActivity, createFindWithoutAccount, createUserActions, createUserDetails } from './users.js'
import { adminUsersRoutes } from './users.routes.js'

type Dependencies = Platform & Rooms & HttpParts

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
