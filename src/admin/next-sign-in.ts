import type { Database } from '../platform/database/database.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { Terms } from '../users/terms.js'
import type { User } from '../users/users.js'

import type { Obstacle } from './obstacles.js'

type Dependencies = {
  database: Database
  terms: Pick<Terms, 'isAgreementMissing' | 'version'>
  profileFields: Pick<ProfileFields, 'missing'>
}

/** Finds what the user will be asked for before the next session begins. */
export const createNextSignInObstacles =
  ({ database, terms, profileFields }: Dependencies) =>
  async (user: User): Promise<Obstacle[]> => {
    if (user.disabled) return []
    const subject = profileFields
      .missing(user.fields)
      .map(({ key }) => key)
      .join(', ')
    const obstacles: (Obstacle | false)[] = [
      subject !== '' && {
        code: 'must_give_fields',
        message: `Required fields are empty: ${subject}. The user is asked for them at the next sign-in.`,
        subject,
      },
      (await terms.isAgreementMissing(database, user.id)) && {
        code: 'must_agree_to_terms',
        message: `The user has not agreed to the terms, version ${terms.version}, and is asked to at the next sign-in.`,
        subject: terms.version,
      },
    ]
    return obstacles.filter((obstacle) => obstacle !== false)
  }
