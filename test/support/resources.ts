import { seconds } from '../../src/lib/durations.js'
import type { NewResource, Resource } from '../../src/openid/resources/resource.js'
import { createResourceChanges } from '../../src/openid/resources/resources.js'
import type { Latchkey } from './latchkey.js'

const operator = { ip: 'command line', userAgent: 'test' }

export const resourceChangesOf = ({ app, clock, sql: database, config }: Latchkey) =>
  createResourceChanges({ ...app.rooms, database, clock, production: config.production })

/** Adds a resource of the running service, as the command does. */
export const addResource = async (latchkey: Latchkey, given: Partial<NewResource> = {}): Promise<Resource> => {
  const added = await resourceChangesOf(latchkey).add(
    {
      address: 'https://mcp.example.com/mcp',
      name: 'Wiki tools',
      scopes: [
        { name: 'read', description: 'Read pages' },
        { name: 'write', description: 'Change pages' },
      ],
      access: 'everyone',
      groups: [],
      algorithm: 'ES256',
      ...given,
    },
    operator,
  )
  if ('refused' in added) throw new Error(`The resource was refused: ${added.refused}`)
  // A closed provider asks at most once a second whether there is one.
  latchkey.clock.advance(1 * seconds)
  return added.resource
}
