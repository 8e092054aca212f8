// deploy/Dockerfile runs this once, as a user with a name. It makes the cluster that the first start in a container copies.
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeBroughtCluster } from './platform/own-postgres/cluster.js'
import { findPrograms } from './platform/own-postgres/programs.js'

const programs = await findPrograms({
  account: { prefix: [] },
  chosenFolder: undefined,
  librariesFolder: join(tmpdir(), 'latchkey-libraries'),
  clusterMajor: undefined,
})
await makeBroughtCluster(programs)
console.log(`PostgreSQL ${programs.version}`)
