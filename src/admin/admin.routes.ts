import type { Server } from '../http/server.js'
import type { App } from '../service/open-http.js'
import { adminAccessRoutes } from './access.routes.js'
import { createAdminGuard, createReadingTrail } from './admin-guard.js'
import { adminConfigurationRoutes } from './configuration.routes.js'
import { openAdmin } from './open-admin.js'
import { adminReportsRoutes } from './reports.routes.js'
import { adminResourcesRoutes } from './resources.routes.js'
import { adminUsersRoutes } from './users.routes.js'

/** The API of administrators. This file is not loaded if ADMIN_GROUP is empty. */
export const registerAdminRoutes = (server: Server, app: App) => {
  const withAdmin = { ...openAdmin(app.config, app, app), ...app }
  const adminGuard = createAdminGuard(app)
  const readingTrail = createReadingTrail(adminGuard, app.events, app.clock)
  adminUsersRoutes(server, withAdmin, adminGuard, readingTrail)
  adminAccessRoutes(server, withAdmin, adminGuard)
  adminConfigurationRoutes(server, withAdmin, adminGuard)
  adminResourcesRoutes(server, withAdmin, adminGuard)
  adminReportsRoutes(server, withAdmin, adminGuard, readingTrail)
}
