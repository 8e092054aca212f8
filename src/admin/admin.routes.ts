import type { Server } from '../http/server.js'
import type { App } from '../service/open-http.js'
import { freeSpaceOf } from '../service/own-database.js'
import { createUserSearch } from '../users/search.js'
import { adminAccessRoutes, createAdminApplications } from './access.routes.js'
import { createAdminGuard, createAdminSessions, createReadingTrail } from './admin-guard.js'
import { createAttention } from './attention.js'
import { createOperatorNouns } from './open-admin.js'
import { adminReportsRoutes } from './reports.routes.js'
import { createDailyCounts } from './stats.js'
import { createActivity, createFindWithoutAccount, createUserActions, createUserDetails } from './users.js'
import { adminUsersRoutes } from './users.routes.js'

/** The API of administrators. This file is not loaded if ADMIN_GROUP is empty. */
export const registerAdminRoutes = (server: Server, app: App) => {
  const { config, clockWatch } = app
  const { publicUrl, freshFor } = config
  const parts = {
    ...createOperatorNouns(config, app),
    ...app,
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
