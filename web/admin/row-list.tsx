import type { ComponentChild } from 'preact'

/** Rows with facts and buttons, or a sentence that there are none. */
export const RowList = ({ empty, children }: { empty: string; children: ComponentChild[] }) =>
  children.length === 0 ? <p class="panel-lead">{empty}</p> : <ul class="row-list">{children}</ul>
