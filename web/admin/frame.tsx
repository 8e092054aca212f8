import { SignOutButton } from '../components/sign-out.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { useAdmin } from './admin-context.js'
import { fragmentOf, type ScreenName, screenNames } from './place.js'

/** The links to all screens, and who is signed in. */
export const Frame = ({ screen }: { screen: ScreenName }) => {
  const words = useWords('admin')
  const { self, mayManage } = useAdmin()
  return (
    <div class="frame">
      <nav aria-label={words.screens}>
        <ul>
          {screenNames.map((name) => (
            <li key={name}>
              <a href={fragmentOf(name)} aria-current={name === screen ? 'page' : undefined}>
                {words[name]}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="frame-self">
        <span>
          {fill(words.signedInAs, { username: self.username })}{' '}
          {!mayManage && (
            <span class="badge" title={words.supportLead}>
              {words.supportRole}
            </span>
          )}
        </span>
        <a href="/api/auth/account-page">{words.toAccount}</a>
        <SignOutButton />
      </div>
    </div>
  )
}
