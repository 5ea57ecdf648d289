import { Layout, type PageContext } from "../layout.tsx";

/** What a message is made with. */
export interface MessageProps {
  readonly page: PageContext;
  readonly title: string;
  readonly text: string;
  readonly link: { readonly href: string; readonly words: string };
}

/** A page with a message and a link. */
export function MessagePage({ page, title, text, link }: MessageProps) {
  return (
    <Layout page={page} title={title}>
      <p>{text}</p>
      <p>
        <a href={link.href}>{link.words}</a>
      </p>
    </Layout>
  );
}
