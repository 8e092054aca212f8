import { useWords } from '../hooks/settings.js'
import { Panel } from './panel.js'

/** The steps after the setup. `invitations`: the screen of administrators, if it can be reached from here. */
export const NextSteps = ({ invitations }: { invitations?: string }) => {
  const words = useWords('next-steps')
  return (
    <Panel title={words.heading} lead={words.lead}>
      <ol class="row-list">
        <li>
          <div class="row-text">
            <strong>{words.mail}</strong>
            <span>{words.mailText}</span>
            <code>SMTP_URL, MAIL_FROM</code>
          </div>
        </li>
        <li>
          <div class="row-text">
            <strong>{words.application}</strong>
            <span>{words.applicationText}</span>
            <code>latchkey application add --help</code>
          </div>
        </li>
        <li>
          <div class="row-text">
            <strong>{words.invitation}</strong>
            <span>{words.invitationText}</span>
            {invitations === undefined ? <code>latchkey invite EMAIL</code> : <a href={invitations}>{words.invite}</a>}
          </div>
        </li>
      </ol>
    </Panel>
  )
}
